"""Functions of a script that nothing calls.

A module may be imported, and what it defines called from elsewhere. A script is run: a function
that its own file never mentions never runs.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.index import FUNCTIONS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def is_dead(context: Context, node: ast.AST) -> bool:
    """Whether the function of the module around `node` is never mentioned, in a script."""
    function: ast.AST | None = None
    for parent in context.index.ancestors(node):
        if isinstance(parent, ast.ClassDef):
            return False
        if isinstance(parent, FUNCTIONS):
            function = parent
    if not isinstance(function, FUNCTIONS) or function.decorator_list or function.name == "main":
        return False
    if not isinstance(context.index.parents[function], ast.Module):
        return False
    if context.index.names.get(function.name) or not _is_script(context):
        return False
    return all(text.value != function.name for text in context.index.strings)


def _is_script(context: Context) -> bool:
    """Whether the module reads the command line when it is run or imported."""
    return any(
        context.index.function(call) is None for call in context.index.calls.get("parse_args", ())
    )
