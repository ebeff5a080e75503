"""Waits for CUDA only that a clock, or who calls, counts on, and what MPS has queued by then."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.timing.device_work import Effect
from mpslint.semantics.waits.pending import (
    is_waiting_clock,
    opens_timed_work,
    pending_at,
    pending_at_calls,
)
from mpslint.semantics.waits.waits import ends_function, serves_nothing
from mpslint.semantics.worlds.machines import MAC, MACS
from mpslint.semantics.worlds.refused import is_behind_refusal

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.worlds.events import Event

_WAIT = "torch.cuda.synchronize"


def waits_for_cuda_only(context: Context) -> Iterator[tuple[Event, Effect]]:
    """The waits that MPS lacks once it is chosen: `WORK` where something is known to be queued."""
    for event in context.worlds.without_twin:
        if event.name != _WAIT or event.on_mac:
            continue  # What a Mac comes to raises there: the finding of cuda-synchronize.
        if is_behind_refusal(event):
            continue  # It raises there as well, once it is no longer refused.
        if not _comes_to_its_test(context, event):
            continue
        if isinstance(event.node, ast.Call) and serves_nothing(context, event.node):
            continue
        if _has_left_with_work(context, event):
            continue
        pending = _pending(context, event.node)
        if pending is not Effect.WAIT:
            yield event, pending


def _comes_to_its_test(context: Context, event: Event) -> bool:
    """Whether a Mac is asked what keeps the wait from it, and has not left before."""
    tests = event.tests & context.worlds.run.device_tests
    return not tests or any(context.worlds.reach(test) & MACS for test in tests)


def _has_left_with_work(context: Context, event: Event) -> bool:
    """Whether a Mac has gone before it is asked whether to wait, be it in the function that calls
    this one, and does not do the work that is waited for either: that stands here as well. A wait
    that a helper makes is for what its callers do, who may do it on a Mac."""
    wait = event.node
    asked = context.index.enclosing(wait, ast.If)
    if not isinstance(asked, ast.If) or not isinstance(wait, ast.Call) or not event.once_ported:
        return False
    if context.index.function(asked) is not context.index.function(wait):
        return False
    if context.worlds.run.cuda_tests.isdisjoint(ast.walk(asked.test)):
        return False
    if context.worlds.comes_to(asked.test) & MAC:
        return False
    return not is_waiting_clock(context, wait) and not ends_function(context, wait)


def _pending(context: Context, wait: ast.AST) -> Effect:
    """What MPS has queued where the wait is missing: there, or where what waits is called."""
    if not isinstance(wait, ast.Call):
        kept = context.index.statement(wait)
        targets = kept.targets if isinstance(kept, ast.Assign) else []
        names = [target.id for target in targets if isinstance(target, ast.Name)]
    elif is_waiting_clock(context, wait):
        return Effect.WORK
    else:
        found = pending_at(context, wait)
        function = context.index.function(wait)
        if found is Effect.UNKNOWN and opens_timed_work(context, wait):
            return Effect.WORK
        if found is not Effect.UNKNOWN or function is None or not ends_function(context, wait):
            return found
        names = [function.name]
    told = [pending_at_calls(context, name) for name in names]
    return Effect.WORK if Effect.WORK in told else Effect.UNKNOWN
