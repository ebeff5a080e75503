"""The device of an object that a function is handed: `args.device`, set by whoever calls it.

`args.device = "cuda" if torch.cuda.is_available() else "cpu"` stands in `main()`, and the functions
that it hands `args` to move their batches by `.cuda()`.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.facts.priors import names_device
from mpslint.semantics.destinations.selected_devices import all_calls, assigned_cuda
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.parameters import explicit_parameters, given_for
from mpslint.semantics.terms.value import Kind

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.syntax.index import FunctionNode

_SET = "devices that are set on objects by name"


def handed_device(context: Context, node: ast.AST) -> tuple[str, bool] | None:
    """The device as the function around `node` can name it, and whether it is text; CUDA wherever
    that is, and set before each call, all of which are seen."""
    function = context.index.function(node)
    if not isinstance(function, FUNCTIONS) or context.index.parents[function] is not context.tree:
        return None
    arguments = explicit_parameters(function.args)
    for stored in _stored(context):
        assert isinstance(stored.value, ast.Name)
        parameter = next((one for one in arguments if one.arg == stored.value.id), None)
        if parameter is None or not _is_kept(context, parameter, node):
            continue
        kinds = {context.values.of(value).kind for value in context.guards.assigned(stored)}
        if len(kinds) != 1 or not kinds <= {Kind.DEVICE, Kind.DEVICE_STRING}:
            continue
        if assigned_cuda(context, stored) and _all_set(context, function, parameter, stored):
            return f"{parameter.arg}.{stored.attr}", kinds == {Kind.DEVICE_STRING}
    return None


def _stored(context: Context) -> list[ast.Attribute]:
    """`args.device`, where it is given a value."""
    if _SET not in context.memo:
        context.memo[_SET] = [
            item
            for name, items in context.index.attributes.items()
            if names_device(name)
            for item in items
            if isinstance(item.ctx, ast.Store) and isinstance(item.value, ast.Name)
            if item.value.id not in ("self", "cls")
        ]
    found = context.memo[_SET]
    assert isinstance(found, list)
    return found


def _is_kept(context: Context, parameter: ast.arg, node: ast.AST) -> bool:
    """Whether the function has not given the name to anything else."""
    held = context.flow.reaching_name(parameter.arg, node)
    return len(held) == 1 and held[0].node is parameter


def _all_set(
    context: Context, function: FunctionNode, parameter: ast.arg, stored: ast.Attribute
) -> bool:
    calls = all_calls(context, function)
    if calls is None:
        return False
    for call in calls:
        given = given_for(function.args, call, parameter.arg, skipped=0)
        if not isinstance(given, ast.Name) or not _is_set_before(context, given, call, stored.attr):
            return False
    return True


def _is_set_before(context: Context, given: ast.Name, call: ast.Call, attribute: str) -> bool:
    """Whether a statement that runs before the call, and with it, sets it on the same object."""
    blocks = [
        context.index.block(parent)
        for parent in (call, *context.index.ancestors(call))
        if isinstance(parent, ast.stmt) and not isinstance(parent, FUNCTIONS)
    ]
    held = context.flow.reaching(given)
    return any(
        isinstance(one.value, ast.Name)
        and one.attr == attribute
        and one.value.id == given.id
        and context.flow.reaching(one.value) == held
        and one.lineno < call.lineno
        and any(context.index.statement(one) in block for block in blocks)
        for one in _stored(context)
    )
