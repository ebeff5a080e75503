"""What tests in loops ask of the turn: its number, its phase, a mode."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator


def counted_up(item: ast.stmt, counters: Container[str]) -> str | None:
    """`step` of `step += 1`, and of `step = i + 1` with `i` among `counters`."""
    target: ast.expr
    if isinstance(item, ast.AugAssign):
        target, sure, one, op = item.target, True, item.value, item.op
    elif isinstance(item, ast.Assign) and isinstance(item.value, ast.BinOp):
        left = item.value.left
        target, one, op = item.targets[0], item.value.right, item.value.op
        sure = isinstance(left, ast.Name) and left.id in counters
    else:
        return None
    sure = sure and isinstance(one, ast.Constant) and one.value == 1 and isinstance(op, ast.Add)
    return target.id if sure and isinstance(target, ast.Name) else None


def mode(test: ast.expr) -> tuple[str, object] | None:
    """`("to_do", "train")` of `to_do == "train"`."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq):
        return None
    left, right = test.left, test.comparators[0]
    if not isinstance(right, ast.Constant) or not isinstance(right.value, str):
        return None
    return ast.unparse(left), right.value


def answers(value: ast.expr | None) -> bool:
    """A test, or the remainder that one looks at; not what is computed with a step's number."""
    if isinstance(value, ast.BinOp):
        return isinstance(value.op, ast.Mod)
    return isinstance(value, ast.BoolOp | ast.Compare | ast.UnaryOp)


def deciding_names(test: ast.expr) -> Iterator[ast.Name]:
    """The names whose truth, or whose number in a comparison, decides `test`."""
    if isinstance(test, ast.Name):
        yield test
    elif isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from deciding_names(value)
    elif isinstance(test, ast.UnaryOp):
        yield from deciding_names(test.operand)
    elif isinstance(test, ast.Compare):
        for side in (test.left, *test.comparators):
            yield from deciding_names(side)


def warms_up(test: ast.expr) -> bool:
    """`step < warmup_steps`: a phase of the loop, not every turn."""
    return isinstance(test, ast.Compare) and any(
        isinstance(item, ast.Name | ast.Attribute)
        and "warm" in (item.id if isinstance(item, ast.Name) else item.attr).lower()
        for item in ast.walk(test)
    )
