"""What a wait that only CUDA has leaves undone on MPS: work that is queued there and runs yet.

Asked backwards from the wait: the last thing before it that queues work, or that waits for it. What
runs under a test for CUDA is passed over, since MPS does not come to it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mpslint.facts.clocks import CLOCKS
from mpslint.semantics.syntax.index import FUNCTIONS, LOOPS
from mpslint.semantics.timing.device_work import Effect

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


_SIMPLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return)
"""Statements without blocks, of which each is asked by itself."""


def pending_at(context: Context, wait: ast.AST, name: str | None = None) -> Effect:
    """What comes last before a wait: `WORK` that is still queued on MPS; a `WAIT` of another kind,
    behind which nothing was queued; `UNKNOWN` where neither is sure. `name`: a function that waits
    for CUDA alone, as the wait asked about does."""
    statement = context.index.statement(wait)
    while True:
        if not _for_cuda_alone(context, statement):
            block = context.index.block(statement)
            last = _last(context, block[: block.index(statement)], name)
            if last is not None:
                return last
        parent = context.index.parents[statement]
        if isinstance(parent, LOOPS):
            return _turn_before(context, statement, name)
        if isinstance(parent, (ast.Module, ast.ClassDef, *FUNCTIONS)):
            return Effect.UNKNOWN  # What calls the function has the answer.
        while not isinstance(parent, ast.stmt):
            parent = context.index.parents[parent]
        statement = parent


def _turn_before(context: Context, statement: ast.stmt, name: str | None) -> Effect:
    """What the turn of a loop before has queued behind a statement, where a clock is read between:
    a time is taken of the turns that come."""
    block = context.index.block(statement)
    clocks = set(context.calls_of(*CLOCKS))
    if not any(item in clocks for item in ast.walk(statement)):
        return Effect.UNKNOWN
    last = _last(context, block[block.index(statement) + 1 :], name)
    return Effect.WORK if last is Effect.WORK else Effect.UNKNOWN


def pending_at_calls(context: Context, name: str) -> Effect:
    """What is pending where the file calls a function that waits: `WORK` where it is anywhere."""
    found = {
        pending_at(context, call, name)
        for call in context.index.calls.get(name, ())
        if isinstance(call.func, ast.Name)
    }
    return Effect.WORK if Effect.WORK in found else Effect.UNKNOWN


def opens_timed_work(context: Context, wait: ast.AST) -> bool:
    """Whether the clock is read behind a wait, and work is queued before the block ends: a time is
    taken of what a device does, and what it has to do yet would count."""
    statement = context.index.statement(wait)
    while isinstance(context.index.parents[statement], ast.If):
        statement = context.index.statement(context.index.parents[statement])
    block = context.index.block(statement)
    behind = block[block.index(statement) + 1 :]
    clocks = set(context.calls_of(*CLOCKS))
    if not behind or not any(item in clocks for item in ast.walk(behind[0])):
        return False
    return any(
        event.effect is Effect.WORK
        for later in behind
        for part in ast.walk(later)
        if isinstance(part, _SIMPLE)
        for event in context.work.events(part)
    )


def is_waiting_clock(context: Context, wait: ast.AST) -> bool:
    """Whether a function waits and reads the clock for those who call it, and does nothing else:
    it is made to time what is queued."""
    function = context.index.function(wait)
    if function is None or not isinstance(function.body[-1], ast.Return):
        return False
    own = context.index.statement(wait)
    calls = {
        call
        for statement in function.body
        if not context.index.within(own, statement)
        for call in ast.walk(statement)
        if isinstance(call, ast.Call)
    }
    clocks = set(context.calls_of(*CLOCKS))
    return calls <= clocks and any(
        context.index.within(clock, function.body[-1]) for clock in calls & clocks
    )


def _last(context: Context, statements: Sequence[ast.stmt], name: str | None) -> Effect | None:
    """What the statements end with; None: they have nothing to do with a device."""
    for statement in reversed(statements):
        found = _of(context, statement, name)
        if found is not None:
            return found
    return None


def _of(context: Context, statement: ast.stmt, name: str | None) -> Effect | None:
    if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
        return None
    if isinstance(statement, (*LOOPS, ast.With, ast.AsyncWith)):
        return _last(context, statement.body, name) or _in(context, _heads(statement), name)
    if isinstance(statement, ast.If):
        arms = [
            _last(context, arm, name)
            for arm in (statement.body, statement.orelse)
            if not (arm and _for_cuda_alone(context, arm[0]))
        ]
        if any(arms):
            # An arm that is not always taken leaves open what the code before it has queued.
            return arms[0] if len(set(arms)) == 1 else Effect.UNKNOWN
        return _in(context, [statement.test], name)
    return _in(context, [statement], name)


def _in(context: Context, nodes: Iterable[ast.AST], name: str | None) -> Effect | None:
    events = [
        event.effect
        for node in nodes
        for event in context.work.events(node)
        if not context.guards.on_cuda(event.node) and not _is_call_of(event.node, name)
    ]
    if events and events[-1] is Effect.COPY:
        return Effect.WAIT
    return events[-1] if events else None


def _heads(statement: ast.stmt) -> list[ast.AST]:
    """What a compound statement evaluates besides its blocks."""
    return [child for child in ast.iter_child_nodes(statement) if not isinstance(child, ast.stmt)]


def _is_call_of(node: ast.AST, name: str | None) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _for_cuda_alone(context: Context, statement: ast.stmt) -> bool:
    return context.guards.on_cuda(statement)
