"""What a function or class of a module can be given, where that is certain: its name is bound once,
and nobody hides its parameters behind a decorator, a metaclass or a base that is not seen."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from mpslint.facts.classes import PLAIN_BASES
from mpslint.semantics.syntax.bound_in_module import bindings_of, may_be_rebound
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.fitting import ANYTHING, Signature, signature_of
from mpslint.semantics.syntax.index import FUNCTIONS, walk

_MADE, _NEW = "__init__", "__new__"
Elsewhere = Callable[[str], Signature | None]


def constructor_in(body: list[ast.stmt]) -> ast.FunctionDef | None:
    """The `__init__` that stands in the body of a class."""
    made = [item for item in body if isinstance(item, ast.FunctionDef) and item.name == _MADE]
    return made[0] if len(made) == 1 else None


def certain_signature(tree: ast.Module, name: str, elsewhere: Elsewhere) -> Signature | None:
    """What `name` of a module can be given, whoever asks; None: that is not certain. `elsewhere`
    says the same of a name that the module imports, as it is qualified here."""
    if may_be_rebound(tree):
        return None
    return _signature(tree, name, elsewhere, frozenset())


def is_bound_nowhere(tree: ast.Module, name: str) -> bool:
    """Whether nothing in a module gives `name` a value, nor may do so without naming it."""
    return not bindings_of(tree, name) and not may_be_rebound(tree)


def imported_as(tree: ast.Module, name: str) -> str | None:
    """What a module imports under a name, come what may; None: it does not."""
    found = [
        _qualified(item, alias)
        for item in tree.body
        if isinstance(item, ast.Import | ast.ImportFrom)
        for alias in item.names
        if (alias.asname or alias.name.partition(".")[0]) == name
    ]
    return found[0] if len(found) == 1 else None


def _qualified(item: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    if isinstance(item, ast.Import):
        return alias.name if alias.asname else alias.name.partition(".")[0]
    module = "." * item.level + (item.module or "")
    return f"{module}{'' if module.endswith('.') else '.'}{alias.name}"


def _signature(
    tree: ast.Module, name: str, elsewhere: Elsewhere, above: frozenset[str]
) -> Signature | None:
    bound = bindings_of(tree, name)
    (node,) = bound if len(bound) == 1 else (None,)
    if isinstance(node, ast.alias):
        qualified = imported_as(tree, name)
        return elsewhere(qualified) if qualified is not None else None
    if not isinstance(node, (*FUNCTIONS, ast.ClassDef)) or node.decorator_list or name in above:
        return None
    if isinstance(node, FUNCTIONS):
        return signature_of(node.args)
    if any(item.arg != "metaclass" or last_name(item.value) != "ABCMeta" for item in node.keywords):
        return None
    given = list(_given_to(node))
    if _NEW in given or given.count(_MADE) > 1:
        return None
    bases = [_base(tree, item, elsewhere, above | {name}) for item in node.bases]
    if None in bases:
        return None
    if not given:
        return bases[0] if len(bases) == 1 else ANYTHING
    own = constructor_in(node.body)
    return signature_of(own.args, bound=True) if own and not own.decorator_list else None


def _base(
    tree: ast.Module, base: ast.expr, elsewhere: Elsewhere, above: frozenset[str]
) -> Signature | None:
    """What makes an object of a class that is another's base."""
    if isinstance(base, ast.Name) and not bindings_of(tree, base.id):
        return ANYTHING if base.id in PLAIN_BASES else None
    key = ast.unparse(base) if isinstance(base, ast.Name | ast.Attribute) else ""
    first, dot, rest = key.partition(".")
    qualified = imported_as(tree, first) if len(bindings_of(tree, first)) == 1 else None
    if qualified is None:
        return _signature(tree, first, elsewhere, above) if key and not dot else None
    whole = f"{qualified}{dot}{rest}"
    return ANYTHING if whole in PLAIN_BASES else elsewhere(whole)


def _given_to(node: ast.ClassDef) -> Iterator[str]:
    """The names of what a class, or something in it, puts in the place of how its objects are made
    as a rule."""
    for item in walk(node):
        name = ""
        if isinstance(item, FUNCTIONS):
            name = item.name
        elif isinstance(item, ast.Name) and not isinstance(item.ctx, ast.Load):
            name = item.id
        elif isinstance(item, ast.Attribute) and not isinstance(item.ctx, ast.Load):
            name = item.attr
        if name in (_MADE, _NEW):
            yield name
