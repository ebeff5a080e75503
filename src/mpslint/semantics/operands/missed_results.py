"""Calls that are tried, and whose result is asked for behind the `try` all the same."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.names.flow import leaves
from mpslint.semantics.syntax.index import FUNCTIONS, walk

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def is_missed_later(context: Context, call: ast.Call) -> bool:
    """Whether `call` is tried, and the name that it gives its result is read behind the `try`,
    which nobody else has given a value: what it raises only comes later."""
    inner: ast.AST = call
    target = ""
    for parent in context.index.ancestors(call):
        if isinstance(parent, FUNCTIONS):
            return False
        if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
            target = parent.targets[0].id
        if isinstance(parent, ast.Try) and inner in parent.body:
            return bool(target) and _is_unbound_behind(context, parent, target)
        inner = parent
    return False


def _is_unbound_behind(context: Context, tried: ast.Try, name: str) -> bool:
    """Whether the handlers go on without the name, and somebody asks for it then."""
    if any(leaves(handler.body) for handler in tried.handlers):
        return False
    function = context.index.function(tried)
    read = False
    for node in walk(function) if function is not None else ():
        if isinstance(node, ast.Name) and node.id == name:
            inside = any(context.index.within(node, statement) for statement in tried.body)
            if isinstance(node.ctx, ast.Load):
                read = read or (not inside and node.lineno > tried.lineno)
            elif not inside:
                return False
    return read
