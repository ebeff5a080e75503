"""Moves behind a test of where a tensor is, of what is there already: `y = torch.ones_like(x)`, and
then `if x.is_cuda: y = y.cuda()`, which moves nothing on any machine."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.operands.made_of import made_beside
from mpslint.semantics.operands.origins import parameters_beside

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_ASKED = "is_cuda"
_MOVE = "cuda"


def is_there(context: Context, call: ast.Call) -> bool:
    """Whether a `.cuda()` is of what lies beside the tensor that the test around it asks."""
    inner: ast.AST = call
    for choice in context.index.ancestors(call):
        if isinstance(choice, ast.If | ast.IfExp):
            body = choice.body if isinstance(choice.body, list) else [choice.body]
            if inner in body and _lies_beside(context, choice.test, call):
                return True
        elif isinstance(choice, ast.stmt) and inner is not call and not isinstance(inner, ast.expr):
            return False
        inner = choice
    return False


def moves_nothing(context: Context, test: ast.expr) -> bool:
    """Whether a test decides nothing but such moves."""
    choice = context.index.parents[test]
    if isinstance(choice, ast.IfExp) and choice.test is test:
        return _is_move(context, test, choice.body)
    if not isinstance(choice, ast.If) or choice.orelse:
        return False
    return all(_is_move(context, test, value) for value in _values(choice))


def _values(choice: ast.If) -> Iterator[ast.expr | None]:
    for statement in choice.body:
        yield statement.value if isinstance(statement, ast.Assign) else None


def _is_move(context: Context, test: ast.expr, value: ast.expr | None) -> bool:
    return isinstance(value, ast.Call) and _lies_beside(context, test, value)


def _lies_beside(context: Context, test: ast.expr, call: ast.Call) -> bool:
    if not isinstance(test, ast.Attribute) or test.attr != _ASKED:
        return False
    move = call.func
    if not isinstance(move, ast.Attribute) or move.attr != _MOVE:
        return False
    asked = parameters_beside(context, test.value)
    there = parameters_beside(context, move.value)
    if len(asked) == 1 and asked[0] in there:
        return True
    return isinstance(test.value, ast.Name) and _is_made_beside(context, move.value, test.value)


def _is_made_beside(context: Context, value: ast.expr, asked: ast.Name) -> bool:
    """`mask` of `mask = torch.zeros_like(x) > 0`, where `x` is what it is at the test."""
    if isinstance(value, ast.Name):
        reaching = context.flow.reaching(value)
        made = reaching[0].value if len(reaching) == 1 and reaching[0].kind == "assign" else None
        return made is not None and _is_made_beside(context, made, asked)
    if isinstance(value, ast.BinOp):
        sides = value.left, value.right
        return any(_is_made_beside(context, side, asked) for side in sides)
    if made_beside(context, value) != asked.id:
        return False
    return context.flow.reaching_name(asked.id, value) == context.flow.reaching(asked)
