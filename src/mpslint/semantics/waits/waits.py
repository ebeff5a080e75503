"""What a wait for a device is good for: for a clock, for a copy that did not wait."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.facts.clocks import CLOCKS
from mpslint.semantics.syntax.index import FUNCTIONS, LOOPS
from mpslint.semantics.syntax.order import following

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def serves_nothing(context: Context, wait: ast.AST) -> bool:
    """Whether nothing that is seen counts on a wait: no clock is read after it in its function or
    its turn of a loop, but for a time that nobody uses, and no copy was left to run beside. A
    function that ends by waiting serves those who call it."""
    behind = list(following(context.index, wait))
    if ends_function(context, wait) or _copies_without_waiting(context, wait):
        return False
    idle = _read_in_vain(context)
    clocks = [clock for clock in context.calls_of(*CLOCKS) if clock not in idle]
    return not any(context.index.within(clock, item) for clock in clocks for item in behind)


def _read_in_vain(context: Context) -> set[ast.Call]:
    """Clocks that are read for times alone that nobody uses."""
    spans = context.timing.spans
    read = {clock for s in spans if context.timing.is_read(s) for clock in (s.start, s.end)}
    return {clock for s in spans for clock in (s.start, s.end)} - read


def ends_function(context: Context, wait: ast.AST) -> bool:
    """Whether a wait, by itself in its arm, is the last thing that its function does."""
    statement = context.index.statement(wait)
    if context.index.enclosing(statement, *LOOPS, *FUNCTIONS).__class__ not in FUNCTIONS:
        return False
    around = context.index.parents[statement]
    if isinstance(around, ast.If) and len(context.index.block(statement)) > 1:
        return False
    return all(
        isinstance(item, ast.Return)
        and (item.value is None or isinstance(item.value, ast.Name | ast.Constant))
        for item in following(context.index, wait)
    )


def _copies_without_waiting(context: Context, wait: ast.AST) -> bool:
    function = context.index.function(wait)
    return any(
        item.arg == "non_blocking" and context.index.function(item) is function
        for item in context.index.of(ast.keyword)
    )
