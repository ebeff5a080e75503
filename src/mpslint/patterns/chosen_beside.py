"""The choice of the CPU or CUDA that a function makes for the same name as a written-out device.

`if device == "gpu": device = "cuda"` and below it `else: device = "cuda" if
torch.cuda.is_available() else "cpu"`: who widens one of them and leaves the other has two ideas of
where the function computes.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.patterns.chain import add_mps_arm

if TYPE_CHECKING:
    from mpslint.model import Edit
    from mpslint.semantics.context import Context


def widened_beside(context: Context, node: ast.expr) -> tuple[Edit, ...]:
    """The edits that let MPS into such choices, where `node` is what a name of a function gets."""
    function, name = context.index.function(node), _named(context, node)
    if function is None or name is None:
        return ()
    found: list[Edit] = []
    for chain in context.chains.without_mps:
        if chain.asked_only or not isinstance(chain.node, ast.IfExp):
            continue
        if context.index.function(chain.node) is not function:
            continue
        if _named(context, chain.node) == name:
            fix = add_mps_arm(context, chain)
            found += fix.edits if fix is not None else ()
    return tuple(found)


def _named(context: Context, node: ast.expr) -> str | None:
    """The plain name that a statement gives this value alone, or a device made of it."""
    statement = context.index.statement(node)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target, value = statement.targets[0], statement.value
    made = isinstance(value, ast.Call) and value.args == [node]
    if not isinstance(target, ast.Name) or not (value is node or made):
        return None
    return target.id
