"""What is done with several GPUs of a list: `if len(gpus) > 1: DataParallel(net, device_ids=gpus)`.

A Mac has one GPU, and nobody who works on one lists several of them, let alone two groups of them
for two models.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.gpus.collectives import WRAPPERS
from mpslint.semantics.purpose.arm_tests import tests_around

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_PARALLEL = (*WRAPPERS, "torch.nn.DataParallel", "torch.nn.parallel.DataParallel")
_MORE_THAN_ONE = ((ast.Gt, 1), (ast.GtE, 2), (ast.NotEq, 1))


def is_for_listed_gpus(context: Context, node: ast.AST) -> bool:
    """Whether a node stands where a list has several entries, which name the GPUs that a model is
    spread over in the same place; or where several models are spread over GPUs of their own."""
    if b"DataParallel" in context.source.data and _is_in_groups(context, node):
        return True
    for test, outcome, arm in tests_around(context, node):
        listed = _several_of(test) if outcome else None
        if listed is not None and _is_spread_over(context, arm, listed):
            return True
    return False


def _is_in_groups(context: Context, node: ast.AST) -> bool:
    """Whether a node stands with a model that is spread over GPUs of fixed numbers, beside another
    one on others: `DataParallel(a, device_ids=[0, 1])` and `DataParallel(b, device_ids=[2, 3])`."""
    statement = context.index.statement(node)
    own = _written(context, statement)
    return any(
        own.isdisjoint(others)
        for other in (context.index.block(statement) if own else ())
        if (others := _written(context, other))
    )


def _written(context: Context, statement: ast.stmt) -> frozenset[object]:
    """The several numbers that a simple statement spreads a model over."""
    if not isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr):
        return frozenset()
    for call in ast.walk(statement):
        if isinstance(call, ast.Call) and context.resolve(call.func) in _PARALLEL:
            for given in _devices(call):
                items = given.elts if isinstance(given, ast.List | ast.Tuple) else []
                numbers = {x.value for x in items if isinstance(x, ast.Constant)}
                if len(numbers) == len(items) > 1:
                    return frozenset(numbers)
    return frozenset()


def _several_of(test: ast.expr) -> str | None:
    """`gpus` of `len(gpus) > 1`."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return next((found for part in test.values if (found := _several_of(part))), None)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    number = test.comparators[0]
    if not isinstance(number, ast.Constant):
        return None
    if (type(test.ops[0]), number.value) not in _MORE_THAN_ONE:
        return None
    counted = test.left
    if (
        isinstance(counted, ast.Call)
        and isinstance(counted.func, ast.Name)
        and counted.func.id == "len"
        and len(counted.args) == 1
    ):
        return ast.unparse(counted.args[0])
    return None


def _is_spread_over(context: Context, body: list[ast.stmt], listed: str) -> bool:
    return any(
        isinstance(call, ast.Call)
        and context.resolve(call.func) in _PARALLEL
        and any(ast.unparse(given) == listed for given in _devices(call))
        for statement in body
        for call in ast.walk(statement)
    )


def _devices(call: ast.Call) -> list[ast.expr]:
    """The devices that a wrapper is given."""
    named = [item.value for item in call.keywords if item.arg == "device_ids"]
    return named or call.args[1:2]
