"""Tensors that are given to compiled code by their address: `plugin.energy(x.data_ptr(), n)`.

Who waits for CUDA around that has code for CUDA behind it: what a tensor on MPS has there is no
address that anything else could use.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mpslint.semantics.context import Context

_LOOKING = frozenset({"print", "format", "append", "add", "assertEqual", "assertNotEqual", "hex"})
"""Functions that take an address to show or to compare it."""


def works_on_addresses(context: Context, node: ast.AST) -> bool:
    """Whether the function around a node hands on the address of a tensor, or is given addresses
    by all who call it in this file."""
    function = context.index.function(node)
    if function is None or not context.index.calls.get("data_ptr"):
        return False
    within = (
        call for call in context.index.calls["data_ptr"] if context.index.within(call, function)
    )
    if any(_is_handed_on(context, call) for call in within):
        return True
    calls = context.index.calls.get(function.name, ())
    return bool(calls) and all(_has_address(call.args) for call in calls)


def _is_handed_on(context: Context, address: ast.Call) -> bool:
    for parent in context.index.ancestors(address):
        if isinstance(parent, ast.Call):
            called = parent.func.attr if isinstance(parent.func, ast.Attribute) else None
            if called is not None and called not in _LOOKING:
                return True
        elif not isinstance(parent, ast.keyword | ast.List | ast.Tuple | ast.Starred):
            return False
    return False


def _has_address(arguments: Iterable[ast.expr]) -> bool:
    return any(
        isinstance(item, ast.Call)
        and isinstance(item.func, ast.Attribute)
        and item.func.attr == "data_ptr"
        for item in arguments
    )
