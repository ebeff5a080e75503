"""Moves behind a test of where a tensor is, of what is there already: `y = torch.ones_like(x)`, and
then `if x.is_cuda: y = y.cuda()`, which moves nothing on any machine."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.operands.made_of import made_beside
from mpslint.semantics.operands.origins import parameters_beside
from mpslint.semantics.syntax.index import FUNCTIONS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_ASKED = "is_cuda"
_MOVE = "cuda"


def is_there(context: Context, call: ast.Call) -> bool:
    """Whether a `.cuda()` is of what lies beside the tensor that the test around it asks."""
    inner: ast.AST = call
    for choice in context.index.ancestors(call):
        if isinstance(choice, ast.If | ast.IfExp):
            asked, arm, _ = _arms(choice)
            if inner in arm and _lies_beside(context, asked, call):
                return True
        elif isinstance(choice, FUNCTIONS):
            return False
        inner = choice
    return False


def moves_nothing(context: Context, test: ast.expr) -> bool:
    """Whether a test decides nothing but such moves."""
    choice = context.index.parents[test]
    while isinstance(choice, ast.UnaryOp) and isinstance(choice.op, ast.Not):
        choice = context.index.parents[choice]
    if not isinstance(choice, ast.If | ast.IfExp):
        return False
    asked, arm, other = _arms(choice)
    return (
        asked is test
        and bool(arm)
        and all(_is_move(context, test, part) for part in arm)
        and all(map(_changes_nothing, other))
    )


def _arms(choice: ast.If | ast.IfExp) -> tuple[ast.expr, list[ast.AST], list[ast.AST]]:
    """What a choice asks, without `not`, and its arms where that holds and where it does not."""
    arms: list[list[ast.AST]] = []
    for arm in (choice.body, choice.orelse):
        arms.append([*arm] if isinstance(arm, list) else [arm])
    asked = choice.test
    while isinstance(asked, ast.UnaryOp) and isinstance(asked.op, ast.Not):
        asked = asked.operand
        arms.reverse()
    return asked, arms[0], arms[1]


def _is_move(context: Context, test: ast.expr, part: ast.AST) -> bool:
    value = part.value if isinstance(part, ast.Assign) else part
    return isinstance(value, ast.Call) and _lies_beside(context, test, value)


def _changes_nothing(part: ast.AST) -> bool:
    """`pass`, `x = x`, and the `x` of `x.cuda() if y.is_cuda else x`"""
    if isinstance(part, ast.Assign):
        given = part.value
        return isinstance(given, ast.Name) and all(
            isinstance(target, ast.Name) and target.id == given.id for target in part.targets
        )
    return isinstance(part, ast.Pass | ast.Name)


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
