"""Whether things of a file stay on the GPU of their own number, whatever becomes of the others."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.patterns.calls import default_gpu, gpu_of
from mpslint.patterns.numbered import is_numbered
from mpslint.semantics.gpus.ranks import rank_of
from mpslint.semantics.syntax.expressions import arguments_for

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

BY_INDEX = "other things of the file go to a GPU by its index, and would stay there"
_INDEX = "moves by an index"


def leaves_index(context: Context, function: ast.AST | None = None) -> bool:
    """Whether the file (or `function`) moves something to a GPU by an index that no fix can do
    without (`x.cuda(args.gpu)`): what is moved by `.cuda()` must stay with it."""
    if _INDEX not in context.memo:
        context.memo[_INDEX] = {
            context.index.function(call)
            for call in context.index.calls.get("cuda", ())
            if isinstance(call.func, ast.Attribute)
            and not context.resolve(call.func)
            and not context.guards.has(call, "cuda", "no-mps")
            for given in arguments_for(call, 0, "device")
            if not default_gpu(context, given)
            and rank_of(context, call) is None
            and gpu_of(call) is None
            and not is_numbered(context, call)
        }
    holders = context.memo[_INDEX]
    assert isinstance(holders, set)
    return function in holders if function is not None else bool(holders)
