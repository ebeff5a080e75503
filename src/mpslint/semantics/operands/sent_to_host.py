"""Whether somebody sent to the CPU what would have been on MPS, before it is computed with there.

`work = "cpu" if device.type == "mps" else device` knows what MPS lacks, and so does
`if x.device.type == "mps": x = x.cpu()`: the analysis by worlds knows where that leaves a tensor.
So does a decorator of the file's own that calls what it wraps with copies on the CPU.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.values.placement import has_host_copy
from mpslint.semantics.worlds.events import Kind
from mpslint.semantics.worlds.machines import MACS
from mpslint.semantics.worlds.values import BOT, cases_of, where

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def is_sent_to_host(context: Context, call: ast.Call) -> bool:
    """Whether what a call computes with, or makes, is on the CPU of a Mac, since a test of the
    device has decided that. Where nothing was decided, a tensor of the CPU may be moved later."""
    if _is_wrapped_on_host(context, call):
        return True
    if not context.worlds.may_name_gpu:
        return False
    events = context.worlds.operands.get(call, ())
    placed = [event for event in events if event.kind is Kind.PLACED]
    run = context.worlds.run
    found = False
    for event in placed or events:
        for _, atom in cases_of(event.value, event.worlds & MACS):
            if atom is BOT:
                continue
            if where(atom) != "cpu" or atom.maybe:
                return False
            asked = atom.tests & (run.mps_tests | run.device_tests)
            found = found or bool(asked)
    return found


def _is_wrapped_on_host(context: Context, call: ast.Call) -> bool:
    """Whether the function around a call is given nothing but copies on the CPU, by a decorator
    that says `return fn(x.cpu()).to(x.device)`."""
    function = context.index.function(call)
    if function is None:
        return False
    return any(
        isinstance(decorator, ast.Name) and _calls_on_host(context, decorator)
        for decorator in function.decorator_list
    )


def _calls_on_host(context: Context, decorator: ast.Name) -> bool:
    bindings = context.names.bindings(decorator.id, decorator)
    wrapper = bindings[0].node if len(bindings) == 1 else None
    if not isinstance(wrapper, FUNCTIONS) or not wrapper.args.args:
        return False
    wrapped = wrapper.args.args[0].arg
    calls = [
        item
        for item in context.index.calls.get(wrapped, ())
        if isinstance(item.func, ast.Name) and context.index.within(item, wrapper)
    ]
    return bool(calls) and all(
        item.args and not item.keywords and all(map(has_host_copy, item.args)) for item in calls
    )
