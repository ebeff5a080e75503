"""Code that measures the memory of CUDA's allocator, and that no other machine comes to: functions
that only return without CUDA, and arms for it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import FunctionNode

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_RESET = b"torch.cuda.reset_"
_RESETS = ("torch.cuda.reset_peak_memory_stats", "torch.cuda.reset_max_memory_allocated")
_PEAKS = ("torch.cuda.max_memory_allocated", "torch.cuda.max_memory_reserved")
_READS = (*_PEAKS, "torch.cuda.memory_allocated", "torch.cuda.memory_reserved")


def measures_cudas_memory(context: Context, row: int) -> bool:
    """Whether a line belongs to a function that only returns without CUDA, and then sets back and
    reads the peak of CUDA's memory (`if not torch.cuda.is_available(): return`), or to an arm for
    CUDA that does both. What it would measure is not there on other GPUs."""
    if _RESET not in context.source.data:
        return False
    known = context.memo.get("measures-memory")
    if known is None:
        known = context.memo["measures-memory"] = list(_measuring(context))
    return any(first <= row <= last for first, last in known)  # type: ignore[attr-defined]


def _measuring(context: Context) -> Iterator[tuple[int, int]]:
    """The rows of such functions and arms."""
    for call in context.calls_of(*_RESETS):
        function = context.index.function(call)
        if function is not None and _measures(context, function):
            yield function.lineno, function.end_lineno or 0
        arm = context.index.parents[context.index.statement(call)]
        if isinstance(arm, ast.If) and context.index.statement(call) in arm.body:
            if _needs_cuda(context, arm.test) and _reads_in(context, arm):
                yield arm.body[0].lineno, arm.body[-1].end_lineno or 0


def _needs_cuda(context: Context, test: ast.expr) -> bool:
    """`torch.cuda.is_available()`, `measure and torch.cuda.is_available()`"""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(_needs_cuda(context, part) for part in test.values)
    return isinstance(test, ast.Call) and (context.resolve(test.func) == "torch.cuda.is_available")


def _reads_in(context: Context, arm: ast.If) -> bool:
    return any(
        arm.body[0].lineno <= call.lineno <= (arm.body[-1].end_lineno or 0)
        for call in context.calls_of(*_READS)
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
