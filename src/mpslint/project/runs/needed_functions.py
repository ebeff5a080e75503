"""What a program takes from its project and uses whatever happens, not in one of two ways."""

from __future__ import annotations

import ast
from collections.abc import Collection

from mpslint.semantics.syntax.expressions import is_main_block, taken_by
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.node_kinds import of_kinds


def needs(tree: ast.Module, qualified: Collection[str]) -> bool:
    """Whether a file names one of these that it imports in some of its functions, or below its test
    of `__name__`, so that there is nothing else in its place: outside of all tests, or in each arm
    that is there and does not end in an error."""
    names = {
        alias.asname or alias.name
        for node in of_kinds(tree, {ast.ImportFrom})
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if taken_by(node, alias) in qualified
    }
    return bool(names) and _any_names(tree.body, names)


def _any_names(body: list[ast.stmt], names: set[str]) -> bool:
    return any(_names_one(item, names) for item in body)


def _names_one(node: ast.AST, names: set[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in names and isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.If) and not is_main_block(node):
        # Without the other arm nothing comes of what is around.
        arms = [arm for arm in (node.body, node.orelse) if arm and not _ends(arm)]
        if arms and all(_any_names(arm, names) for arm in arms):
            return True
    elif isinstance(node, ast.IfExp):
        return _names_one(node.body, names) and _names_one(node.orelse, names)
    elif not isinstance(node, ast.BoolOp | ast.Try | ast.Match):
        return any(_names_one(child, names) for child in ast.iter_child_nodes(node))
    # A function that is defined in an arm is a way of its own.
    defined = (item for item in ast.walk(node) if isinstance(item, FUNCTIONS))
    return any(_names_one(item, names) for item in defined)


def _ends(arm: list[ast.stmt]) -> bool:
    return bool(arm) and isinstance(arm[-1], ast.Raise)
