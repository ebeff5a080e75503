"""Events of the device that is there, in place of CUDA's."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Fix
from mpslint.patterns.availability import mps_available
from mpslint.patterns.guard import guard_expression
from mpslint.patterns.layout import wrapped_chain
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.text import alone_on_lines, insert, replace

if TYPE_CHECKING:
    from mpslint.model import Edit
    from mpslint.semantics.context import Context

_MESSAGE = "Make an event of the device that is there"
_PLAIN = "whether the events of the file are used as those of MPS can be"
_KEPT = "the events that the file makes and that have a fix"
_NAMES = ("event_type", "device_event")
_EVENTS = ("torch.cuda.Event", "torch.cuda.streams.Event")
# Fact: torch/mps/event.py: `record()`, `wait()`, `query()`, `synchronize()` and `elapsed_time(end)`
# are all that an event of MPS has, and it knows no streams.
_WITHOUT_ARGUMENTS = ("record", "wait", "query")
_OF_STREAMS = ("record_event", "wait_event", "wait_stream", "record_stream", "ipc_handle", "stream")


def is_portable(call: ast.Call) -> bool:
    """Whether `torch.mps.Event` takes the same arguments."""
    return not call.args and all(keyword.arg == "enable_timing" for keyword in call.keywords)


def events_level(context: Context) -> Applicability:
    """Safe where nothing of the file does with an event what one of MPS cannot."""
    if _PLAIN not in context.memo:
        calls = context.index.calls
        given = (call for name in _WITHOUT_ARGUMENTS for call in calls.get(name, ()))
        has_streams = any(calls.get(name) for name in _OF_STREAMS)
        context.memo[_PLAIN] = not has_streams and not any(c.args or c.keywords for c in given)
    return Applicability.SAFE if context.memo[_PLAIN] else Applicability.UNSAFE


def event_of_the_device(context: Context, call: ast.Call) -> Fix | None:
    """The class of events is chosen once where a function makes several of them."""
    shared = _shared(context, call)
    if shared is not None:
        return Fix(_MESSAGE, shared, events_level(context))
    source = context.source
    arguments = source.text[source.span(call.func)[1] : source.span(call)[1]]
    torch = torch_name(context, call)
    then = "{torch}.mps.Event" + arguments
    # Where there is neither, nothing times events, and what is raised stays the same.
    asked, other = mps_available(context, str(torch)), source.segment(call)
    return guard_expression(context, call, asked, other, _MESSAGE, events_level(context), then)


def _shared(context: Context, call: ast.Call) -> tuple[Edit, ...] | None:
    torch = torch_name(context, call)
    function = context.index.function(call)
    if torch is None or function is None:
        return None
    alike = [one for one in _made(context) if context.index.function(one) is function]
    name = next((one for one in _NAMES if one not in context.index.names), None)
    if len(alike) < 2 or name is None:
        return None
    first = context.index.statement(alike[0])
    while context.index.parents[first] is not function:
        around = context.index.parents[first]
        if not isinstance(around, ast.stmt):
            return None
        first = around
    source = context.source
    if not alone_on_lines(source, first) and not hasattr(first, "body"):
        return None
    row, indent = first.lineno, source.indentation(first.lineno)
    while row > 1 and source.line(row - 1).startswith(f"{indent}#"):
        row -= 1  # What is said of the statement stays with it.
    asked = mps_available(context, torch)
    chosen = f"{torch}.mps.Event if {asked} else {source.segment(call.func)}"
    before = f"{indent}{name} = "
    line = f"{before}{wrapped_chain(context, chosen, indent, len(before))}{source.newline}"
    return (insert(source.starts[row - 1], line), replace(source, call.func, name))


def _made(context: Context) -> list[ast.Call]:
    """The events that the file makes and that have a fix, in the order of their rows."""
    if _KEPT not in context.memo:
        found = [event.call for event in context.worlds.raising(_EVENTS) if is_portable(event.call)]
        context.memo[_KEPT] = sorted(dict.fromkeys(found), key=lambda c: (c.lineno, c.col_offset))
    made = context.memo[_KEPT]
    assert isinstance(made, list)
    return made
