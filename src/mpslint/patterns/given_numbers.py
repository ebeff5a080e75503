"""What an arm for MPS asks of the number of a GPU that the arm for CUDA goes to."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from mpslint.semantics.gpus.negative_numbers import may_be_negative

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def with_numbers(context: Context, parts: list[str], arms: Iterable[ast.AST]) -> list[str]:
    """The conditions `parts` of the `arms` for CUDA, and that a number is one of a GPU where they
    only ask whether there is one, and where it may be negative. Such a number raises on CUDA, and
    off CUDA it stands for the CPU: an arm for MPS would be taken by who wants that."""
    tests = [test for part in parts for test in ast.walk(ast.parse(part, mode="eval"))]
    compared = [test for test in tests if isinstance(test, ast.Compare)]
    numbers = {ast.unparse(test.left): test.left for test in compared if _is_given(test)}
    for test in compared:
        if not _is_given(test):
            numbers.pop(ast.unparse(test.left), None)
    used = {
        ast.unparse(node)
        for arm in arms
        for node in ast.walk(arm)
        if isinstance(node, ast.Name | ast.Attribute)
    }
    return parts + [
        f"{text} >= 0"
        for text, number in numbers.items()
        if text in used and may_be_negative(context, number)
    ]


def _is_given(test: ast.Compare) -> bool:
    """`gpu is not None`"""
    other = test.comparators[0]
    return isinstance(test.ops[0], ast.IsNot) and (
        isinstance(other, ast.Constant) and other.value is None
    )
