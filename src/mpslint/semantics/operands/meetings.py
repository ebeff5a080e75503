"""Whether what is moved at a place meets a module that is somewhere: `net(images)`.

A module and what it is called with are on one device, or the call raises. So where a function sends
a module to `args.device`, and calls it with what it moves by `.cuda()`, the two were one device
wherever the program ran.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.worlds.events import Kind
from mpslint.semantics.worlds.machines import NVIDIA
from mpslint.semantics.worlds.values import DEVICE, one, where

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.semantics.context import Context

_MOVES = ("to", "cuda")


def meets_module_on(context: Context, node: ast.AST, device: ast.Attribute) -> bool:
    """Whether the function around `node` sends a module to `device`, in front of `node`, and then
    calls it, or a function with both, with what is moved at `node`."""
    function = context.index.function(node)
    moved = set(_names_of(context, _move(context, node)))
    if function is None or not moved:
        return False
    modules = {
        name
        for call in context.index.calls.get("to", ())
        if context.index.function(call) is function and call.lineno < getattr(node, "lineno", 0)
        if any(ast.dump(given) == ast.dump(device) for given in call.args[:1])
        if not _goes_elsewhere(context, call)
        for name in _names_of(context, call)
    }
    return any(
        isinstance(use.ctx, ast.Load) and _is_called_with(context, use, modules)
        for name in moved
        for use in context.index.names.get(name, ())
        if context.index.function(use) is function
    )


def _goes_elsewhere(context: Context, call: ast.Call) -> bool:
    """Whether a machine with CUDA sends it to another device, as far as the program is followed:
    `default="cpu"`, where the user asks for none."""
    return any(
        atom.kind == DEVICE and where(atom) not in ("cuda", "?")
        for event in context.worlds.events(Kind.PLACED)
        if event.node is call
        for atom in (one(event.value, NVIDIA),)
    )


def _move(context: Context, node: ast.AST) -> ast.Call | None:
    """`x.cuda()`, whichever part of it is asked about."""
    for parent in (node, *context.index.ancestors(node)):
        if isinstance(parent, ast.stmt):
            return None
        if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute):
            if parent.func.attr in _MOVES:
                return parent
    return None


def _names_of(context: Context, call: ast.Call | None) -> Iterator[str]:
    """The name that holds what a move gives, or that it moves where it stands."""
    if call is None or not isinstance(call.func, ast.Attribute):
        return
    parent = context.index.parents[call]
    if isinstance(parent, ast.Assign):
        yield from (item.id for item in parent.targets if isinstance(item, ast.Name))
    elif isinstance(parent, ast.Expr) and isinstance(call.func.value, ast.Name):
        yield call.func.value.id


def _is_called_with(context: Context, use: ast.Name, modules: set[str]) -> bool:
    """`net(use)`, `net(part(use))`, `sample(use, net)`"""
    for parent in context.index.ancestors(use):
        if isinstance(parent, ast.stmt):
            return False
        if not isinstance(parent, ast.Call) or not _is_given(context, parent, use):
            continue
        beside = {item.id for item in parent.args if isinstance(item, ast.Name)}
        called = parent.func.id if isinstance(parent.func, ast.Name) else None
        if called in modules or not beside.isdisjoint(modules - {use.id}):
            return True
    return False


def _is_given(context: Context, call: ast.Call, use: ast.Name) -> bool:
    return any(context.index.within(use, given) for given in call.args)
