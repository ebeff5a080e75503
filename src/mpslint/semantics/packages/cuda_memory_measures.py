"""Functions that only return without CUDA, and else measure the memory of CUDA's allocator."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import FunctionNode

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_RESET = b"torch.cuda.reset_"
_RESETS = ("torch.cuda.reset_peak_memory_stats", "torch.cuda.reset_max_memory_allocated")
_PEAKS = ("torch.cuda.max_memory_allocated", "torch.cuda.max_memory_reserved")


def measures_cudas_memory(context: Context, row: int) -> bool:
    """Whether a line belongs to a function that only returns without CUDA, and then sets back and
    reads the peak of CUDA's memory: `if not torch.cuda.is_available(): return`. What it would
    measure is not there on other GPUs."""
    if _RESET not in context.source.data:
        return False
    known = context.memo.get("measures-memory")
    if known is None:
        resets = (context.index.function(call) for call in context.calls_of(*_RESETS))
        known = context.memo["measures-memory"] = [
            function for function in resets if function is not None and _measures(context, function)
        ]
    return any(
        function.lineno <= row <= (function.end_lineno or 0)
        for function in known  # type: ignore[attr-defined]
    )


def _measures(context: Context, function: FunctionNode) -> bool:
    peaks = (context.index.function(call) for call in context.calls_of(*_PEAKS))
    return function in peaks and any(
        isinstance(item, ast.If)
        and isinstance(item.test, ast.UnaryOp)
        and isinstance(item.test.op, ast.Not)
        and isinstance(item.test.operand, ast.Call)
        and context.resolve(item.test.operand.func) == "torch.cuda.is_available"
        and isinstance(item.body[-1], ast.Return)
        and not item.orelse
        for item in function.body
    )
