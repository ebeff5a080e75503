"""Code for several processes with a GPU each, which a Mac, with its one GPU, never runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import is_main_block
from mpslint.semantics.syntax.index import FUNCTIONS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_COLLECTIVES = (
    "torch.distributed.all_reduce",
    "torch.distributed.all_gather",
    "torch.distributed.all_gather_into_tensor",
    "torch.distributed.broadcast",
    "torch.distributed.reduce",
    "torch.distributed.gather",
    "torch.distributed.scatter",
    "torch.distributed.reduce_scatter",
    "torch.distributed.all_to_all",
    "torch.distributed.send",
    "torch.distributed.recv",
    "torch.distributed.isend",
    "torch.distributed.irecv",
)
"""None of them takes a tensor of MPS: no backend of torch.distributed does."""
_FOR_RANKS = "rows for other processes"
WRAPPERS = (
    "torch.nn.parallel.DistributedDataParallel",
    "torch.nn.parallel.distributed.DistributedDataParallel",
    "torch.distributed.fsdp.FullyShardedDataParallel",
    "torch.distributed.fsdp.fully_shard",
)


def talks_to_ranks(context: Context, node: ast.AST) -> bool:
    """Whether the function around `node` hands tensors to other processes."""
    function = context.index.function(node)
    return function is not None and any(
        context.index.function(call) is function for call in context.calls_of(*_COLLECTIVES)
    )


def is_made_for_ranks(context: Context, row: int) -> bool:
    """Whether what stands in a line makes the tensor that the same block then hands to the other
    processes, whatever comes: `t = torch.cuda.FloatTensor(x)`, `torch.distributed.all_reduce(t)`.
    Who is alone has no processes to hand it to."""
    known = context.memo.get(_FOR_RANKS)
    if known is None:
        known = context.memo[_FOR_RANKS] = set(_rows_for_ranks(context))
    assert isinstance(known, set)
    return row in known


def _rows_for_ranks(context: Context) -> Iterator[int]:
    for call in context.calls_of(*_COLLECTIVES):
        statement = context.index.statement(call)
        if not isinstance(statement, ast.Expr | ast.Assign) or statement.value is not call:
            continue  # Under a test of its own.
        block = context.index.block(statement)
        given = {item.id for item in call.args if isinstance(item, ast.Name)}
        for made in (*block[: block.index(statement)], statement):
            if made is statement or (
                isinstance(made, ast.Assign)
                and any(isinstance(item, ast.Name) and item.id in given for item in made.targets)
            ):
                yield from range(made.lineno, (made.end_lineno or made.lineno) + 1)


def wrapped_for_ranks(context: Context, node: ast.AST) -> bool:
    """Whether the function around `node` always wraps its model for several processes."""
    function = context.index.function(node)
    return function is not None and any(
        context.index.function(call) is function and not is_optional(context, call)
        for call in context.calls_of(*WRAPPERS)
    )


def is_optional(context: Context, call: ast.expr) -> bool:
    """Whether a call, or another use, stands under a test, in its function or in the module; that
    the module is the program itself is none."""
    for parent in context.index.ancestors(call):
        if isinstance(parent, FUNCTIONS):
            return False
        if isinstance(parent, ast.Try) and not parent.handlers:
            continue  # `try: join(); work()`, `finally: leave()` tries nothing.
        if isinstance(parent, ast.If | ast.IfExp | ast.Try | ast.BoolOp):
            if not is_main_block(parent):
                return True
    return False
