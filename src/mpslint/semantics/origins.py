"""The parameters of a function beside which a value is: on their device, whoever calls.

`feature = x.view(n, -1)[index]` is where `x` is, through whatever names it went on the way there.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.made_of import parts, value_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.semantics.context import Context
    from mpslint.semantics.names import Binding

_DEPTH = 12
Parameters = frozenset["Binding"]
_NONE: Parameters = frozenset()


def origins(context: Context, operand: ast.expr) -> list[Binding]:
    """The parameters that are on one device with `operand`, as far as they are tensors."""
    found = _of_value(context, operand, ()) or _NONE
    return sorted(found, key=lambda one: context.source.span(one.node))


def has_origin(context: Context, name: str, at: ast.AST, parameter: Binding) -> bool:
    """Whether what a name holds at a place is surely on one device with a parameter."""
    if not context.flow.surely_bound(name, at):
        return False
    return parameter in (
        _of_bindings(context, name, context.flow.reaching_name(name, at), ()) or ()
    )


def is_made_with(context: Context, operand: ast.expr, call: ast.expr) -> bool:
    """Whether an operand may be, or be computed from, what `call` gives, so that they are on one
    device."""
    return _is_made_with(context, operand, call, ())


def _is_made_with(
    context: Context, operand: ast.expr, call: ast.expr, busy: tuple[Binding, ...]
) -> bool:
    if operand is call:
        return True
    if not isinstance(operand, ast.Name):
        return any(_is_made_with(context, part, call, busy) for part in parts(context, operand))
    if len(busy) > _DEPTH:
        return False
    for binding in context.flow.reaching(operand):
        value = _value(context, binding, operand.id)
        if value is None or binding in busy:
            continue
        if _is_made_with(context, value, call, (*busy, binding)):
            return True
    return False


def _of_value(context: Context, value: ast.expr, busy: tuple[Binding, ...]) -> Parameters | None:
    """None: it is what it was a turn of a loop before, and says nothing of its own."""
    if isinstance(value, ast.Name):
        return _of_bindings(context, value.id, context.flow.reaching(value), busy)
    found = [_of_value(context, part, busy) for part in parts(context, value)]
    known = [one for one in found if one is not None]
    return None if found and not known else _NONE.union(*known)


def _of_bindings(
    context: Context, name: str, bindings: Sequence[Binding], busy: tuple[Binding, ...]
) -> Parameters | None:
    """What all that may have given a name its value have in common."""
    found = [_of_binding(context, name, binding, busy) for binding in bindings]
    known = [one for one in found if one is not None]
    if not known:
        return None if found else _NONE
    return known[0].intersection(*known[1:])


def _of_binding(
    context: Context, name: str, binding: Binding, busy: tuple[Binding, ...]
) -> Parameters | None:
    if binding.kind == "parameter":
        return frozenset({binding})
    if binding in busy:
        return None
    if len(busy) > _DEPTH:
        return _NONE
    busy = (*busy, binding)
    if binding.kind == "augment":
        # `x += y` leaves `x` where it is.
        before = context.flow.reaching_name(name, binding.node)
        return _of_bindings(context, name, before, busy)
    value = value_of(context, binding, name)
    return _NONE if value is None else _of_value(context, value, busy)


def _value(context: Context, binding: Binding, name: str) -> ast.expr | None:
    return binding.value if binding.kind == "augment" else value_of(context, binding, name)
