"""What torch is called at a place of a file, and which names are free there for a device."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.patterns.place import comes_by_star, device_places
from mpslint.semantics.syntax.index import FUNCTIONS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.names.names import Binding, Names, Scope

_DEFERRED = (*FUNCTIONS, ast.Lambda)
_TORCHES = "names of torch, by scope"
_BY_STAR = "torch"
_FREE_NAMES = "free names for a device"
_SPARE_NAMES = ("device", "torch_device", "default_device", "selected_device", "mpslint_device")


def torch_name(context: Context, at: ast.AST) -> str | None:
    """The name under which `at` sees torch; None where it is not imported for it, or only below."""
    names = context.names
    scope = names.scope_of(at)
    in_order = True  # Whether `at` runs in the order of the lines of the scope.
    known: dict[Scope, list[str]] = context.memo.setdefault(_TORCHES, {})  # type: ignore[assignment]
    while scope is not None:
        if scope not in known:
            known[scope] = [
                name for name, bound in scope.bindings.items() if _is_torch(names, bound)
            ]
        for name in known[scope]:
            if names.owner(name, at) is scope:
                return None if in_order and _comes_below(scope.bindings[name], at) else name
        if scope.parent is None:
            return (
                _BY_STAR if comes_by_star(context) and names.owner(_BY_STAR, at) is None else None
            )
        in_order = in_order and not isinstance(scope.node, _DEFERRED)
        scope = scope.parent
    return None


def _comes_below(bindings: list[Binding], at: ast.AST) -> bool:
    """Whether a name has no value yet where `at` runs."""
    row = getattr(at, "lineno", 0)
    return row > 0 and all(getattr(one.node, "lineno", 0) > row for one in bindings)


def _is_torch(names: Names, bindings: list[Binding]) -> bool:
    """`import torch`, and `torch = pytest.importorskip("torch")`."""
    if any(one.qualified == "torch" for one in bindings if one.kind == "import"):
        return True
    made = bindings[0].value if len(bindings) == 1 else None
    return isinstance(made, ast.Call) and names.resolve(made) == "torch"


def free_name(context: Context, node: ast.AST) -> str | None:
    """A module-level name for the selection that is free, and is seen wherever it is needed.

    Parameters of the same name may stay where nothing needs it: they shadow it where they are
    meant.
    """
    for name in _free_names(context):
        if context.names.owner(name, node) is None:
            return name
    return None


def _free_names(context: Context) -> tuple[str, ...]:
    """The names that are free wherever the file may need a device: asked once for all fixes."""
    known = context.memo.get(_FREE_NAMES)
    if known is None:
        spare = dict.fromkeys((context.settings.device_name, *_SPARE_NAMES))
        kinds: dict[str, set[str]] = {}
        for bound, binding in context.names.every_binding():
            if bound in spare:
                kinds.setdefault(bound, set()).add(binding.kind)
        known = tuple(n for n in spare if _is_free(context, n, kinds.get(n, set())))
        context.memo[_FREE_NAMES] = known
    assert isinstance(known, tuple)
    return known


def _is_free(context: Context, name: str, kinds: set[str]) -> bool:
    names = context.names
    if kinds - {"parameter"}:
        return False
    if any(names.owner(name, use) is None for use in context.index.names.get(name, ())):
        return False
    return all(names.owner(name, place) is None for place in device_places(context))
