"""Batches that a data set makes float64: an array of NumPy's own dtype that `__getitem__` hands out
is a float64 tensor once a loader has put it into a batch, and no move takes that to MPS."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from mpslint.facts.priors import names_device
from mpslint.semantics.syntax.index import FUNCTIONS, walk

if TYPE_CHECKING:
    from collections.abc import Iterable

_WHY = "is float64 as {} hands it out, which cannot be moved to MPS"
_MAKERS = {"ones": 1, "zeros": 1, "empty": 1, "full": 2, "eye": 2, "linspace": 3, "identity": 1}
"""Functions of NumPy that make float64 where no dtype is said, after so many arguments."""
_NUMBERS = frozenset({"rand", "randn", "random", "uniform", "normal", "standard_normal"})
KINDS: frozenset[type[ast.AST]] = frozenset({ast.For})
"""The kinds of nodes that are asked for."""

Key = tuple[int, int] | str
"""A part of an item: of a tuple of so many the one at a place, of a dictionary that of a key."""
Wide = dict[str, set[Key]]
"""The data sets by name, with the parts that are float64."""


def may_hand_out(text: bytes) -> bool:
    """Whether a text may define such a data set."""
    return b"__getitem__" in text and (b"np." in text or b"numpy." in text)


def may_take(text: bytes) -> bool:
    """Whether a text may move what a loader gives; who collates by itself is not followed."""
    return b"for " in text and b"collate_fn" not in text and (b".to(" in text or b".cuda(" in text)


def handed_out(tree: ast.Module) -> Wide:
    found: Wide = {}
    for klass in tree.body:
        for method in klass.body if isinstance(klass, ast.ClassDef) else ():
            if isinstance(method, FUNCTIONS) and method.name == "__getitem__":
                parts = set(_parts(method, klass))
                if parts and isinstance(klass, ast.ClassDef):
                    found[klass.name] = parts
    return found


def taken(loops: Iterable[ast.AST], wide: Wide) -> Iterator[tuple[int, str]]:
    """The rows in which a loop moves such a part, with the reason."""
    for loop in loops:
        if not isinstance(loop, ast.For):
            continue
        names = dict(_named(loop.target))
        for node in walk(loop):
            owner = _moved(node)
            key: Key | None = None
            if isinstance(owner, ast.Name):
                key = names.get(owner.id)
            elif isinstance(owner, ast.Subscript) and isinstance(owner.slice, ast.Constant):
                key = owner.slice.value if isinstance(owner.slice.value, str) else None
            for klass, parts in wide.items() if key is not None else ():
                if key in parts:
                    yield node.lineno, f"{ast.unparse(node)} {_WHY.format(klass)}"  # type: ignore[attr-defined]


def _parts(method: ast.AST, klass: ast.AST) -> Iterator[Key]:
    for node in walk(method):
        value = node.value if isinstance(node, ast.Return) else None
        if isinstance(value, ast.Tuple):
            for at, item in enumerate(value.elts):
                if _is_wide(item, method, klass):
                    yield len(value.elts), at
        elif isinstance(value, ast.Dict):
            for key, item in zip(value.keys, value.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    if _is_wide(item, method, klass):
                        yield key.value


def _is_wide(value: ast.expr, method: ast.AST, klass: ast.AST) -> bool:
    if isinstance(value, ast.Name):
        made = list(_given(value, method))
        return bool(made) and all(_is_made_wide(one) for one in made)
    held = value.value if isinstance(value, ast.Subscript) else value
    if isinstance(held, ast.Attribute):  # `self.rows[index]`
        made = list(_given(held, klass))
        return bool(made) and all(_is_made_wide(one) for one in made)
    return _is_made_wide(value)


def _given(name: ast.Name | ast.Attribute, scope: ast.AST) -> Iterator[ast.expr]:
    """What a name, or an attribute of the object, is assigned."""
    spelled = ast.unparse(name)
    for node in walk(scope):
        for target in node.targets if isinstance(node, ast.Assign) else ():
            value = node.value  # type: ignore[attr-defined]
            pairs = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = list(zip(target.elts, value.elts, strict=False))
            for part, given in pairs:
                if isinstance(part, ast.Name | ast.Attribute) and ast.unparse(part) == spelled:
                    yield given


def _is_made_wide(value: ast.expr) -> bool:
    """`np.ones(size)`"""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    if any(one.arg in ("dtype", None) for one in value.keywords):
        return False
    holder, name = ast.unparse(value.func.value), value.func.attr
    if holder in ("np.random", "numpy.random"):
        return name in _NUMBERS and _has_size(value)
    return holder in ("np", "numpy") and 0 < len(value.args) <= _MAKERS.get(name, 0)


def _has_size(call: ast.Call) -> bool:
    return bool(call.args or call.keywords)


def _named(target: ast.expr) -> Iterator[tuple[str, Key]]:
    """The names that a loop gives the parts of a batch, also below a number of the turn."""
    if not isinstance(target, ast.Tuple):
        return
    items: Sequence[ast.expr] = target.elts
    if isinstance(items[-1], ast.Tuple):
        items = items[-1].elts
    for at, item in enumerate(items):
        if isinstance(item, ast.Name):
            yield item.id, (len(items), at)


def _moved(node: ast.AST) -> ast.expr | None:
    """`x` of `x.to(device)` and of `x.cuda()`, as it is before a fix and behind it."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    if node.func.attr == "cuda":
        return node.func.value
    if node.func.attr != "to" or len(node.args) != 1 or node.keywords:
        return None
    place = node.args[0]
    if isinstance(place, ast.Constant):
        is_cuda = isinstance(place.value, str) and place.value.partition(":")[0] == "cuda"
        return node.func.value if is_cuda else None
    name = place.attr if isinstance(place, ast.Attribute) else getattr(place, "id", "")
    return node.func.value if names_device(name) else None
