"""Loops whose turns read the elements of a device's tensor one by one.

`for i in range(len(t)): if t[i] > 0: ...` waits at each turn, where one copy before the loop
would do. That is so in whatever the loop is for, also where nothing is trained.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from mpslint.semantics.index import COMPREHENSIONS, FUNCTIONS
from mpslint.semantics.placement import has_host_copy
from mpslint.semantics.value import Kind
from mpslint.semantics.worlds.machines import MACS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.names import Binding

Turning = ast.For | ast.AsyncFor | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_NAMES_FOLLOWED = 2
"""`label = t[i].long()`, `known = label`, and the test: more is not seen in real code."""


class ElementRead(NamedTuple):
    node: ast.expr
    """What asks for the number."""
    whole: ast.expr
    """The tensor that could be copied as a whole before."""
    loop: Turning


def element_reads(context: Context) -> Iterator[ElementRead]:
    """The first of each loop, in source order. Where each turn prints, somebody looks on, and what
    is read is little."""
    told: set[Turning] = set()
    for node, read in sorted(_reads(context), key=lambda item: _place(item[0])):
        found = _element(context, read, _NAMES_FOLLOWED)
        if found is None:
            continue
        whole, loop = found
        if loop in told or _prints(loop) or not context.worlds.reach(node) & MACS:
            continue
        told.add(loop)
        yield ElementRead(node, whole, loop)


def _prints(loop: Turning) -> bool:
    return any(
        isinstance(item, ast.Call) and isinstance(item.func, ast.Name) and item.func.id == "print"
        for item in ast.walk(loop)
    )


def _place(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _reads(context: Context) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What asks for a number, with what it asks."""
    index = context.index
    for call in index.calls.get("item", ()):
        if isinstance(call.func, ast.Attribute) and not call.args:
            yield call, call.func.value
    for name in ("int", "float"):
        for call in index.calls.get(name, ()):
            if isinstance(call.func, ast.Name) and len(call.args) == 1:
                yield call, call.args[0]
    tests = [branch.test for branch in index.of(ast.If)]
    tests += [choice.test for choice in index.of(ast.IfExp)]
    for test in tests:
        for part in test.values if isinstance(test, ast.BoolOp) else [test]:
            if isinstance(part, ast.Compare) and len(part.comparators) == 1:
                if isinstance(part.ops[0], ast.Is | ast.IsNot | ast.In | ast.NotIn):
                    continue
                yield part, part.left
                yield part, part.comparators[0]


def _element(context: Context, node: ast.expr, names: int) -> tuple[ast.expr, Turning] | None:
    """The tensor of which `node` is made of one element, and the loop that goes through it."""
    if has_host_copy(node):
        return None
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
            node = node.func.value
        elif isinstance(node, ast.Subscript):
            loop = _counted(context, node)
            if loop is not None:
                return (node.value, loop) if _lies_there(context, node.value, loop) else None
            node = node.value
        else:
            break
    if not isinstance(node, ast.Name) or not names:
        return None
    bindings = context.flow.reaching(node)
    if len(bindings) != 1:
        return None
    given = _given(bindings[0], node.id)
    return _element(context, given, names - 1) if given is not None else None


def _given(binding: Binding, name: str) -> ast.expr | None:
    """`x` of `name = x`, and of `name, other = x, y`."""
    value = binding.value
    if binding.kind == "assign":
        return value
    if binding.kind != "unpack" or not isinstance(binding.node, ast.Assign):
        return None
    for target in binding.node.targets:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for place, item in zip(target.elts, value.elts, strict=False):
                if isinstance(place, ast.Name) and place.id == name:
                    return item
    return None


def _counted(context: Context, item: ast.Subscript) -> Turning | None:
    """The loop around whose counter is the index of `item`."""
    if not isinstance(item.slice, ast.Name):
        return None
    for parent in context.index.ancestors(item):
        if isinstance(parent, FUNCTIONS):
            return None
        if isinstance(parent, ast.For | ast.AsyncFor):
            heads = [(parent.target, parent.iter)]
        elif isinstance(parent, COMPREHENSIONS):
            heads = [(part.target, part.iter) for part in parent.generators]
        else:
            continue
        for target, iterable in heads:
            if item.slice.id in _counters(context, target, iterable):
                return parent
    return None


def _counters(context: Context, target: ast.expr, iterable: ast.expr) -> set[str]:
    """`i` of `for i in range(n)` and of `for i, x in enumerate(xs)`."""
    name = context.values.last_name(iterable.func) if isinstance(iterable, ast.Call) else None
    if name in ("range", "trange") and isinstance(target, ast.Name):
        return {target.id}
    if name == "enumerate" and isinstance(target, ast.Tuple):
        return {part.id for part in target.elts[:1] if isinstance(part, ast.Name)}
    return set()


def _lies_there(context: Context, whole: ast.expr, loop: Turning) -> bool:
    """Whether the tensor is on a device, and is made before the loop."""
    value = context.values.of(whole)
    if value.kind not in (Kind.TENSOR, Kind.UNKNOWN) or not context.placement.on_accelerator(whole):
        return False
    root = whole
    while isinstance(root, ast.Attribute | ast.Call | ast.Subscript):
        root = root.func if isinstance(root, ast.Call) else root.value
    if not isinstance(root, ast.Name):
        return False
    bindings = context.flow.reaching(root)
    stored = [
        use
        for use in context.index.names.get(root.id, ())
        if isinstance(use.ctx, ast.Store) and context.index.within(use, loop)
    ]
    return bool(bindings) and not stored and not _is_filled(context, root, loop)


def _is_filled(context: Context, root: ast.Name, loop: Turning) -> bool:
    """Whether the loop itself writes elements of the tensor, so that a copy would not do."""
    return any(
        isinstance(parent := context.index.parents[use], ast.Subscript)
        and isinstance(parent.ctx, ast.Store)
        and context.index.within(use, loop)
        for use in context.index.names.get(root.id, ())
    )
