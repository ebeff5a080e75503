"""Tests of whether all numbers of a tensor are finite: `torch.isnan(loss).any()`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import last_name

if TYPE_CHECKING:
    from mpslint.semantics.names.names import Names

_BROKEN = frozenset({"isnan", "isinf", "isposinf", "isneginf"})
_SOUND = "isfinite"
FINITE = (*_BROKEN, _SOUND)
REDUCING = ("any", "all")


def broken_arm(names: Names, test: ast.expr) -> bool | None:
    """Which arm of a test is for numbers that are not finite, so that no turn comes there unless
    something has gone wrong: the first (True) or the second (False); None: neither is."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        arm = broken_arm(names, test.operand)
        return None if arm is None else not arm
    if isinstance(test, ast.BoolOp | ast.BinOp):
        parts = test.values if isinstance(test, ast.BoolOp) else [test.left, test.right]
        arms = [broken_arm(names, part) for part in parts]
        if isinstance(test, ast.BoolOp):
            both = isinstance(test.op, ast.And)
            if both and True in arms:
                return True
            if not both and False in arms:
                return False
        return arms[0] if len(set(arms)) == 1 else None
    return _of_call(names, test) if isinstance(test, ast.Call) else None


def _of_call(names: Names, call: ast.Call) -> bool | None:
    name = last_name(call.func)
    if name in _BROKEN:
        return True
    if name == _SOUND:
        return False
    if name not in (*REDUCING, "bool", "item"):
        return None
    if isinstance(call.func, ast.Attribute) and names.resolve(call.func) is None:
        return broken_arm(names, call.func.value)  # `x.isnan().any()`
    return broken_arm(names, call.args[0]) if call.args else None
