"""Tests that only hold, or only fail, where several GPUs work together."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from mpslint.semantics.facts_known import NEGATIVE
from mpslint.semantics.value_syntax import last_name

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

WORD = re.compile(
    r"distributed|fsdp|nccl|deepspeed|torchrun|slurm|(^|_)ddp(_|$)|multi_?(gpu|node|process)", re.I
)
"""What code for several processes is called."""
_COUNT = re.compile(
    r"(^|_)(world_?size|n_?gpus?(_per_node)?|ngpus?|num_?(gpus?|processes|nodes)|device_count)$",
    re.I,
)
_LOCAL_RANK = re.compile(r"(^|_)local_rank$|^LOCAL_RANK$", re.I)
_LAUNCHED = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "SLURM_PROCID")
"""What launchers of several processes set in the environment."""
_DEPTH = 3
_OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


def asks_for_several(
    context: Context, test: ast.expr, outcome: bool = True, depth: int = _DEPTH
) -> bool:
    """Whether there are several GPUs where `test` comes out so; flags say what they were assigned,
    `depth` times over."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return asks_for_several(context, test.operand, not outcome, depth)
    if isinstance(test, ast.BoolOp):
        every = isinstance(test.op, ast.Or) == outcome
        parts = (asks_for_several(context, item, outcome, depth) for item in test.values)
        return all(parts) if every else any(parts)
    if isinstance(test, ast.Compare):
        return len(test.ops) == 1 and _compares_several(test, outcome)
    word = last_name(test.func if isinstance(test, ast.Call) else test)
    if word is None:
        return False
    if WORD.search(word) is not None:
        return outcome is not bool(NEGATIVE.search(word))  # `if args.no_distributed:`
    value = context.guards.behind(test)
    return value is not test and depth > 0 and asks_for_several(context, value, outcome, depth - 1)


def _compares_several(test: ast.Compare, outcome: bool) -> bool:
    """`world_size > 1`, `local_rank != -1`, `strategy == "fsdp"`, `"RANK" in os.environ`"""
    left, right = test.left, test.comparators[0]
    operator = type(test.ops[0]) if outcome else _OPPOSITES.get(type(test.ops[0]))
    if operator is ast.In:
        return isinstance(left, ast.Constant) and left.value in _LAUNCHED
    if operator is ast.Eq:
        if isinstance(right, ast.Attribute):
            return WORD.search(right.attr) is not None
        word = right.value if isinstance(right, ast.Constant) else None
        return isinstance(word, str) and WORD.search(word) is not None
    number = _number(right)
    if number is None:
        return False
    names = _words(left)
    if any(_LOCAL_RANK.search(name) for name in names):
        return (operator, number) in ((ast.NotEq, -1), (ast.Gt, -1), (ast.GtE, 0))
    if any(_COUNT.search(name) for name in names):
        return (operator, number) in ((ast.NotEq, 1), (ast.Gt, 1), (ast.GtE, 2))
    return False


def _words(node: ast.expr) -> list[str]:
    """Names and texts of `args.world_size`, `get_world_size()`, `int(os.environ["LOCAL_RANK"])`."""
    if isinstance(node, ast.Call) and last_name(node.func) in ("int", "get", "getenv"):
        return [word for argument in node.args for word in _words(argument)]
    if isinstance(node, ast.Subscript):
        return _words(node.slice)
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    word = last_name(node.func if isinstance(node, ast.Call) else node)
    return [word] if word is not None else []


def _number(node: ast.expr) -> int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return -inner if inner is not None else None
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    return None
