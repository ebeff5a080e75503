"""Two arms of a test that do the same once both copy to the CPU: the first one does for both.

`x.cpu().numpy() if x.is_cuda else x.numpy()` becomes `x.cpu().numpy()`: a tensor of the CPU comes
out of `cpu()` as it is.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.patterns.text import alone_on_lines, holds_comment, replace, replace_span

if TYPE_CHECKING:
    from mpslint.model import Edit
    from mpslint.semantics.context import Context

_COPY = ".cpu()"
_ASKING = (ast.Name, ast.Attribute, ast.BoolOp, ast.boolop, ast.UnaryOp, ast.Not, ast.expr_context)


def first_arm_alone(context: Context, call: ast.Call) -> Edit | None:
    """The test around `call` with both of its arms as its first one alone; None where this would
    not be the same, or is more than a line."""
    branch = context.index.enclosing(call, ast.IfExp, ast.If)
    if isinstance(branch, ast.IfExp):
        return _of_expression(context, branch, call)
    if isinstance(branch, ast.If):
        return _of_statement(context, branch, call)
    return None


def _of_expression(context: Context, branch: ast.IfExp, call: ast.Call) -> Edit | None:
    source = context.source
    text = source.segment(branch.body)
    if not isinstance(branch.body, ast.Call) or not context.index.within(call, branch.orelse):
        return None
    if not _asks_alone(branch.test) or not _are_one(branch.body, branch.orelse):
        return None
    if "\n" in text or holds_comment(source, *source.span(branch)):
        return None
    return replace(source, branch, text)


def _of_statement(context: Context, branch: ast.If, call: ast.Call) -> Edit | None:
    source = context.source
    if len(branch.body) != 1 or len(branch.orelse) != 1 or not _asks_alone(branch.test):
        return None
    one, two = branch.body[0], branch.orelse[0]
    start, end = source.span(branch)
    text = source.segment(one)
    if not context.index.within(call, two) or not _are_one(one, two):
        return None
    if not source.text.startswith("if", start) or not alone_on_lines(source, branch):
        return None
    if "\n" in text or holds_comment(source, start, end):
        return None
    return replace_span(source, start, end, text)


def _asks_alone(test: ast.expr) -> bool:
    """Whether nothing happens when a test is asked."""
    return all(
        isinstance(item, _ASKING)
        or (
            isinstance(item, ast.Call)
            and isinstance(item.func, ast.Attribute)
            and item.func.attr == "is_available"
            and not item.args
        )
        for item in ast.walk(test)
    )


def _are_one(first: ast.AST, other: ast.AST) -> bool:
    """Whether an arm is another one that copies to the CPU as well."""
    text = ast.unparse(first)
    return _COPY in text and text.replace(_COPY, "") == ast.unparse(other).replace(_COPY, "")
