"""Where a file reads a clock: by a function of a library, or by one of its own that does so."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.facts.clocks import CLOCKS
from mpslint.semantics.loops.step_calls import called_by_name
from mpslint.semantics.syntax.index import FunctionNode

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def clock_reads(context: Context) -> list[ast.Call]:
    """Calls that read a clock, those of `def now(): return time.perf_counter()` as well."""
    reads = list(context.calls_of(*CLOCKS))
    for read in list(reads):
        function = context.index.function(read)
        if function is not None and _only_hands_back(function, read):
            reads += called_by_name(context, function)
    return reads


def _only_hands_back(function: FunctionNode, read: ast.Call) -> bool:
    """Whether a function does nothing but read the clock for who calls it."""
    body = function.body
    if len(body) > 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
        return False
    return [x for x in ast.walk(body[0].value) if isinstance(x, ast.Call)] == [read]
