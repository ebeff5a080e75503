"""Statements of a notebook that are there to fail: the next one does the same with a copy on the
CPU, as whoever teaches shows what goes wrong and then what goes right."""

from __future__ import annotations

import ast
import copy
from typing import TYPE_CHECKING

from mpslint.sources.opening import is_notebook

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_COPYING = ("cpu", "detach")


def is_shown_to_fail(context: Context, node: ast.AST) -> bool:
    """Whether the next statement of a notebook's page is the one around `node`, with a copy."""
    if not is_notebook(context.source.path):
        return False
    statement = context.index.statement(node)
    block = context.index.block(statement)
    following = block[block.index(statement) + 1 :][:1]
    if not isinstance(context.index.parents[statement], ast.Module) or not following:
        return False
    return "cpu" in _copies(following[0]) and _plain(following[0]) == _plain(statement)


def _copies(statement: ast.stmt) -> set[str]:
    return {item.func.attr for item in ast.walk(statement) if _is_copy(item)}  # type: ignore[attr-defined]


def _plain(statement: ast.stmt) -> str:
    """A statement as text, without the copies in it."""
    return ast.unparse(_WithoutCopies().visit(copy.deepcopy(statement)))


class _WithoutCopies(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        return node.func.value if _is_copy(node) else node  # type: ignore[attr-defined]


def _is_copy(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _COPYING
        and not node.args
    )
