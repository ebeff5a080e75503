"""The device that an object holds for the code around a place: `self.ppo_device`, `args.device`,
`unet.device`.

It counts where the same class (of `self`), or the same function, sends things there: what is put
beside them has to go there too, wherever that is.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.facts.priors import names_device
from mpslint.semantics.destinations.selected_devices import assigned_cuda, picks_cuda
from mpslint.semantics.elsewhere.elsewhere import set_by
from mpslint.semantics.elsewhere.imported import imported_base
from mpslint.semantics.names.set_by_then import is_set_by_then
from mpslint.semantics.syntax.expressions import root_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.semantics.context import Context

_SENDING = "devices of objects, where things are sent to them"
_SENT = "variables that things are sent to"


def device_in_use(context: Context, node: ast.AST) -> ast.Attribute | None:
    """The device, as it is written where things are sent to it; the nearest one before `node`
    where there are several."""
    if _SENDING not in context.memo:
        context.memo[_SENDING] = _uses(context)
    uses: list[ast.Attribute] = context.memo[_SENDING]  # type: ignore[assignment]
    fitting = [use for use in uses if _holds_at(context, use, node)]
    at = getattr(node, "lineno", 0)
    return min(fitting, key=lambda use: (use.lineno > at, abs(use.lineno - at)), default=None)


def name_in_use(context: Context, node: ast.AST) -> ast.Name | None:
    """The variable, a parameter as a rule, to which the function around `node` sends things, as it
    is written where it does, and that holds the same device at `node`."""
    if _SENT not in context.memo:
        context.memo[_SENT] = [
            given
            for call in context.index.of(ast.Call)
            for given in _given(call)
            if isinstance(given, ast.Name) and names_device(given.id)
        ]
    uses: list[ast.Name] = context.memo[_SENT]  # type: ignore[assignment]
    function, flow = context.index.function(node), context.flow
    for use in uses:
        if context.index.function(use) is not function or not flow.surely_bound(use.id, node):
            continue
        if context.devices.results.takes(function, use.id):
            continue
        held = flow.reaching_name(use.id, node)
        if held and held == flow.reaching(use):
            return use
    return None


def is_cuda_with_cuda(context: Context, device: ast.Attribute) -> bool:
    """Whether the class, or a base of it in another file, gives the attribute CUDA wherever that
    is."""
    if assigned_cuda(context, device):
        return True
    base = imported_base(context.index, context.names, device)
    if base is None or not _is_self(device) or context.guards.assigned(device):
        return False
    definition = context.definition_elsewhere(base)
    found = set_by(definition, device.attr) if definition is not None else None
    return found is not None and all(picks_cuda(found[0], value) for value in found[1])


def _uses(context: Context) -> list[ast.Attribute]:
    return [
        given
        for call in context.index.of(ast.Call)
        for given in _given(call)
        if isinstance(given, ast.Attribute)
        and _root(given) is not None
        and names_device(given.attr)
        and not (context.resolve(given) or "").startswith("torch.")
    ]


def _given(call: ast.Call) -> Iterator[ast.expr]:
    if isinstance(call.func, ast.Attribute) and call.func.attr == "to":
        yield from call.args[:1]
    yield from (keyword.value for keyword in call.keywords if keyword.arg == "device")


def _is_self(device: ast.Attribute) -> bool:
    return isinstance(device.value, ast.Name) and device.value.id == "self"


def _root(device: ast.Attribute) -> ast.Name | None:
    """`self` of `self.config.device`."""
    held = root_of(device, ast.Attribute)
    return held if isinstance(held, ast.Name) else None


def _holds_at(context: Context, use: ast.Attribute, node: ast.AST) -> bool:
    """Whether the object is the same one at `node`, and has its device there."""
    index = context.index
    if not _is_self(use):
        function, root = index.function(node), _root(use)
        if root is None or index.function(use) is not function:
            return False
        if function is None and not _is_set_by_program(context, use, node):
            return False
        flow = context.flow
        if not flow.surely_bound(root.id, node):  # A later turn has what this one gives a name.
            return False
        return flow.reaching_name(root.id, node) == flow.reaching(root)
    function = index.function(node)
    owner = index.enclosing(node, ast.ClassDef)
    if function is None or owner is None or index.enclosing(use, ast.ClassDef) is not owner:
        return False
    if not function.args.args or function.args.args[0].arg != "self":
        return False
    if function.name == "__init__":
        return _is_set_before(context, function, use.attr, node)
    return not _is_stored(context, owner, use.attr) or is_set_by_then(index, owner, use.attr, node)


def _is_set_by_program(context: Context, use: ast.Attribute, node: ast.AST) -> bool:
    """Whether the statements of a program itself have set it before `node`: `args.device = ...`"""
    at, spelled = getattr(node, "lineno", 0), ast.unparse(use)
    return any(
        isinstance(item.ctx, ast.Store)
        and item.lineno < at
        and context.index.function(item) is None
        and ast.unparse(item) == spelled
        for item in context.index.attributes.get(use.attr, ())
    )


def _is_stored(context: Context, owner: ast.ClassDef, attribute: str) -> bool:
    return any(
        isinstance(item.ctx, ast.Store)
        and _is_self(item)
        and context.index.enclosing(item, ast.ClassDef) is owner
        for item in context.index.attributes.get(attribute, ())
    )


def _is_set_before(context: Context, function: ast.AST, attribute: str, node: ast.AST) -> bool:
    """Whether the constructor has set the attribute, or let its base do so, before `node`."""
    at = getattr(node, "lineno", 0)
    owner = context.index.enclosing(function, ast.ClassDef)
    stores = [
        item
        for item in context.index.attributes.get(attribute, ())
        if isinstance(item.ctx, ast.Store) and context.index.enclosing(item, ast.ClassDef) is owner
    ]
    if stores:
        body = getattr(function, "body", [])
        return any(item.lineno < at and context.index.statement(item) in body for item in stores)
    return any(
        call.lineno < at and context.index.within(call, function)
        for call in context.index.calls.get("__init__", ())
    )
