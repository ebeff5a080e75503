"""Tests that only hold, or only fail, where several GPUs work together."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.facts.priors import names_process
from mpslint.semantics.syntax.expressions import last_name

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_LAUNCHED = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "SLURM_PROCID")
"""What launchers of several processes set in the environment."""
_SIZES = ("WORLD_SIZE", "LOCAL_WORLD_SIZE", "get_world_size", "world_size")
"""How many processes there are: torchrun's variables, and what `torch.distributed` says and is told
(`init_process_group(world_size=...)`)."""
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
    value = context.guards.behind(test)
    return value is not test and depth > 0 and asks_for_several(context, value, outcome, depth - 1)


def _compares_several(test: ast.Compare, outcome: bool) -> bool:
    """`get_world_size() > 1`, `local_rank != -1`, `"RANK" in os.environ`"""
    left, right = test.left, test.comparators[0]
    operator = type(test.ops[0]) if outcome else _OPPOSITES.get(type(test.ops[0]))
    if operator is ast.In:
        return isinstance(left, ast.Constant) and left.value in _LAUNCHED
    number = _number(right)
    if number is None:
        return False
    names = _words(left)
    if any(names_process(name) for name in names):
        return (operator, number) in ((ast.NotEq, -1), (ast.Gt, -1), (ast.GtE, 0))
    if any(name in _SIZES for name in names):
        return (operator, number) in ((ast.NotEq, 1), (ast.Gt, 1), (ast.GtE, 2))
    return False


def _words(node: ast.expr) -> list[str]:
    """Names and texts of `args.local_rank`, `get_world_size()`, `int(os.environ["LOCAL_RANK"])`."""
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
