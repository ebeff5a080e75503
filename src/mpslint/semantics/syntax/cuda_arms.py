"""The arms of tests that are for CUDA alone, as the tree alone tells it.

Where a file is run in the abstract, or its guards are known, these say it: this is for who has read
a text and no more.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mpslint.records import NamedTuple

_CUDA, _MPS = "cuda", "mps"
_DEEPEST = 8
"""So many names are followed, one given what another was."""


class Arms(NamedTuple):
    """Whether what runs where a test holds, and where it does not, runs for CUDA alone."""

    holds: bool
    fails: bool

    @property
    def turned(self) -> Arms:
        return Arms(self.fails, self.holds)


_NEITHER = Arms(False, False)
_Given = Mapping[str, ast.expr]


def holds_word(node: ast.AST) -> bool:
    """Whether a node is a name, an attribute or a text that has `cuda` in it."""
    if isinstance(node, ast.Attribute):
        return _CUDA in node.attr
    if isinstance(node, ast.Name):
        return _CUDA in node.id
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and _CUDA in node.value


def cuda_arms(test: ast.expr, given: _Given | None = None, depth: int = _DEEPEST) -> Arms:
    """What a test says of the machine: where it asks for CUDA what holds is for CUDA alone, and
    where it asks for anything else what does not hold is. `given`: what names stand for."""
    given = given or {}
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return cuda_arms(test.operand, given, depth).turned
    if isinstance(test, ast.BoolOp):
        parts = [cuda_arms(one, given, depth) for one in test.values]
        every, some = (all, any) if isinstance(test.op, ast.Or) else (any, all)
        return Arms(every(one.holds for one in parts), some(one.fails for one in parts))
    if isinstance(test, ast.Compare):
        return _compared(test, given, depth)
    if isinstance(test, ast.IfExp):
        return _chosen(test, given, depth)
    if isinstance(test, ast.Name) and test.id in given and depth:
        found = cuda_arms(given[test.id], given, depth - 1)
        if found != _NEITHER:
            return found
    return Arms(_names_cuda(test), False)


def _compared(test: ast.Compare, given: _Given, depth: int) -> Arms:
    """`device.type == "cuda"`, `scaler is not None`, `torch.cuda.device_count() > 0`"""
    value = test.comparators[-1]
    is_other = isinstance(test.ops[0], ast.NotEq | ast.NotIn | ast.IsNot)
    if isinstance(value, ast.Constant) and value.value is None:
        is_there = cuda_arms(test.left, given, depth)
        return is_there if is_other else is_there.turned
    if not _names_cuda(test):
        return _NEITHER
    if isinstance(value, ast.Constant) and not isinstance(value.value, str):
        return Arms(is_other or isinstance(test.ops[0], ast.Gt | ast.GtE), False)
    return Arms(not is_other, is_other)


def _chosen(test: ast.IfExp, given: _Given, depth: int) -> Arms:
    """`GradScaler() if device.type == "cuda" else None` is something for CUDA alone."""
    asked = cuda_arms(test.test, given, depth)
    if isinstance(test.orelse, ast.Constant) and not test.orelse.value:
        return Arms(asked.holds, False)
    is_nothing = isinstance(test.body, ast.Constant) and not test.body.value
    return Arms(asked.fails and is_nothing, False)


def _names_cuda(node: ast.expr) -> bool:
    said = ast.unparse(node).lower()
    return _CUDA in said and _MPS not in said
