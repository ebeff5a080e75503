"""What comes out of a table: `models[args.model]`, which is any of those that lie in there."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def is_looked_up(context: Context, node: ast.expr) -> bool:
    """Whether something was looked up in a table, here or where its name was given it."""
    nodes: list[ast.expr | None] = [node]
    if isinstance(node, ast.Name):
        nodes = [binding.value for binding in context.names.bindings(node.id, node)]
    return any(
        isinstance(one, ast.Subscript)
        or (
            isinstance(one, ast.Call)
            and isinstance(one.func, ast.Attribute)
            and one.func.attr == "get"
        )
        for one in nodes
    )


def modules_before(context: Context, node: ast.expr) -> list[str]:
    """The modules that a name stands for before something else gets it: `model = model.Model()`."""
    if not isinstance(node, ast.Name):
        return []
    return [
        binding.qualified
        for bound, binding in context.names.every_binding()
        if bound == node.id and binding.kind == "import" and binding.qualified
    ]
