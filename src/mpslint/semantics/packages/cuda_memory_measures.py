"""Code that measures the memory of CUDA's allocator, and that no other machine comes to: functions
that only return without CUDA, and arms for it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import takewhile
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import FunctionNode

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_RESET = b"torch.cuda.reset_"
_RESETS = ("torch.cuda.reset_peak_memory_stats", "torch.cuda.reset_max_memory_allocated")
_PEAKS = ("torch.cuda.max_memory_allocated", "torch.cuda.max_memory_reserved")
_READS = (*_PEAKS, "torch.cuda.memory_allocated", "torch.cuda.memory_reserved")
_MADE_READY = ("torch.cuda.empty_cache", "torch.cuda.synchronize")


def measures_cudas_memory(context: Context, row: int) -> bool:
    """Whether a line belongs to a function that only returns without CUDA, and then sets back and
    reads the peak of CUDA's memory (`if not torch.cuda.is_available(): return`), or to a statement
    that does so in an arm for CUDA. What it would measure is not there on other GPUs."""
    if _RESET not in context.source.data:
        return False
    known = context.memo.get("measures-memory")
    if known is None:
        known = context.memo["measures-memory"] = list(_measuring(context))
    return any(first <= row <= last for first, last in known)  # type: ignore[attr-defined]


def _measuring(context: Context) -> Iterator[tuple[int, int]]:
    """The rows of such functions, and of such statements in arms."""
    for call in context.calls_of(*_RESETS):
        function = context.index.function(call)
        if function is not None and _measures(context, function):
            yield function.lineno, function.end_lineno or 0
        arm = context.index.parents[context.index.statement(call)]
        if isinstance(arm, ast.If) and context.index.statement(call) in arm.body:
            if "cuda" in context.guards.implied(arm.test, True):
                yield from _measuring_in(context, arm)


def _measuring_in(context: Context, arm: ast.If) -> Iterator[tuple[int, int]]:
    """The rows of statements of an arm that set the memory back or read it, where it does both, and
    of those next to them that make it ready for that: what else the arm does is work."""
    reads = _within(context, arm, _READS)
    if reads:
        ready = {context.index.parents[call] for call in _within(context, arm, _MADE_READY)}
        for call in (*_within(context, arm, _RESETS), *reads):
            statement = context.index.statement(call)
            yield _rows(statement)
            block, at = context.index.place(statement) or ([statement], 0)
            for beside in (block[at + 1 :], block[:at][::-1]):
                yield from map(_rows, takewhile(ready.__contains__, beside))


def _within(context: Context, arm: ast.If, names: tuple[str, ...]) -> list[ast.Call]:
    first, last = arm.body[0].lineno, arm.body[-1].end_lineno or 0
    return [call for call in context.calls_of(*names) if first <= call.lineno <= last]


def _rows(statement: ast.stmt) -> tuple[int, int]:
    """The rows of a statement, without those of what it holds."""
    held = getattr(statement, "body", None)
    last = held[0].lineno - 1 if held else statement.end_lineno or 0
    return statement.lineno, max(statement.lineno, last)


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
