"""Loops that train by calling a function of their file that is one step of training.

`for batch in batches: loss, norm = self.update(batch)` trains as much as one that goes back through
the graph itself: what it reads of `loss` at each turn, it waits for at each turn.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.index import FunctionNode
from mpslint.semantics.loops import Loop

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_LOOPS = "step-calls.loops"


def calls_a_step(context: Context, loop: Loop) -> bool:
    """Whether every turn of `loop` calls a step of training of this file."""
    known: set[Loop] | None = context.memo.get(_LOOPS)  # type: ignore[assignment]
    if known is None:
        known = context.memo[_LOOPS] = set(_that_call(context))
    return loop in known


def _that_call(context: Context) -> Iterator[Loop]:
    loops = context.loops
    for function in steps(context):
        for site in called_by_name(context, function):
            loop = loops.innermost(site)
            if loop is not None and loops.every_step(site, loop):
                yield loop


def steps(context: Context) -> set[FunctionNode]:
    """The functions of this file of which a call is one step of training."""
    around = {context.index.function(call) for call in context.index.calls.get("backward", ())}
    return {item for item in around if item is not None and context.loops.is_step(item)}


def called_by_name(context: Context, function: FunctionNode) -> Iterator[ast.Call]:
    """Calls of `function` that can be of no other: by its name, or by way of `self`."""
    index = context.index
    klass = index.parents[function]
    if isinstance(klass, ast.ClassDef):
        named: list[ast.Attribute] | list[ast.Name] = [
            use
            for use in index.attributes.get(function.name, ())
            if isinstance(use.value, ast.Name)
            and use.value.id == "self"
            and index.within(use, klass)
        ]
    else:
        scope = context.names.scope_of(function)
        named = [
            use
            for use in index.names.get(function.name, ())
            if context.names.owner(use.id, use) is scope
        ]
    for use in named:
        call = index.parents[use]
        if isinstance(call, ast.Call) and call.func is use and not index.within(use, function):
            yield call
