"""The parameters of a function beside which a value is: on their device, whoever calls.

`feature = x.view(n, -1)[index]` is where `x` is, through whatever names it went on the way there.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.names.unpacked import bound_part
from mpslint.semantics.operands.made_of import parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.semantics.context import Context
    from mpslint.semantics.names.names import Binding

_KEY = "parameters beside which bindings are"
_ALL = None
"""Of what is only known to be what it was a turn of a loop before."""
Parameters = frozenset["Binding"]
_NONE: Parameters = frozenset()
Found = dict["Binding", "Parameters | None"]


def parameters_beside(context: Context, operand: ast.expr) -> list[Binding]:
    """The parameters that are on one device with `operand`, as far as they are tensors."""
    names = [context.flow.reaching(name) for name in _leaves(context, operand)]
    found = _of_names(names, _known(context, names)) or _NONE
    return sorted(found, key=lambda one: context.source.span(one.node))


def has_origin(context: Context, name: str, at: ast.AST, parameter: Binding) -> bool:
    """Whether what a name holds at a place is surely on one device with a parameter."""
    if not context.flow.surely_bound(name, at):
        return False
    names = [context.flow.reaching_name(name, at)]
    return parameter in (_of_names(names, _known(context, names)) or _NONE)


def is_made_with(
    context: Context, operand: ast.expr, call: ast.expr, without: set[Binding]
) -> bool:
    """Whether an operand may be, or be computed from, what `call` gives, so that they are on one
    device. `without` are bindings known to have nothing of it, to which this adds."""
    seen: set[Binding] = set()
    pending = [operand]
    while pending:
        value = pending.pop()
        if value is call:
            return True
        if not isinstance(value, ast.Name):
            pending += parts(context, value)
            continue
        for binding in context.flow.reaching(value):
            if binding in seen or binding in without:
                continue
            seen.add(binding)
            is_kept = binding.kind == "augment"
            made = binding.value if is_kept else bound_part(binding, value.id)
            if made is not None:
                pending.append(made)
    without |= seen
    return False


def _leaves(context: Context, value: ast.expr) -> list[ast.Name]:
    if isinstance(value, ast.Name):
        return [value]
    return [name for part in parts(context, value) for name in _leaves(context, part)]


def _known(context: Context, names: Sequence[Sequence[Binding]]) -> Found:
    """The parameters beside which these bindings are, and all those that they are made of: as many
    as hold for all ways, also those through loops."""
    known: Found = context.memo.setdefault(_KEY, {})  # type: ignore[assignment]
    made_of: dict[Binding, list[Sequence[Binding]]] = {}
    pending = [binding for bindings in names for binding in bindings]
    while pending:
        binding = pending.pop()
        if binding in known:
            continue
        known[binding] = _ALL
        if binding.kind == "parameter":
            known[binding] = frozenset({binding})
            continue
        made_of[binding] = _read(context, binding)
        pending += [one for bindings in made_of[binding] for one in bindings]
    is_settled = False
    while not is_settled:
        is_settled = True
        # Each stands behind those that are made of it.
        for binding, read in reversed(made_of.items()):
            found = _of_names(read, known)
            if found != known[binding]:
                known[binding], is_settled = found, False
    return known


def _read(context: Context, binding: Binding) -> list[Sequence[Binding]]:
    """What may have given their values to the names beside which a binding leaves its own."""
    if not isinstance(binding.target, ast.Name):
        return []
    name = binding.target.id
    if binding.kind == "augment":
        # `x += y` leaves `x` where it is.
        return [context.flow.reaching_name(name, binding.node)]
    value = bound_part(binding, name)
    leaves = _leaves(context, value) if value is not None else []
    return [context.flow.reaching(leaf) for leaf in leaves]


def _of_names(names: Sequence[Sequence[Binding]], known: Found) -> Parameters | None:
    """What one of the names is beside, whichever of its bindings gave it its value."""
    found = _NONE
    for bindings in names:
        settled = [one for binding in bindings if (one := known[binding]) is not _ALL]
        if bindings and not settled:
            return _ALL
        if settled:
            found |= settled[0].intersection(*settled[1:])
    return found
