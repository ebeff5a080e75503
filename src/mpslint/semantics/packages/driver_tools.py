"""Questions to NVIDIA's driver that are asked past torch: of its program, or of a package that
runs it. There is no such driver for today's Macs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.facts.machines import CHECKING, DRIVER_LISTS, STARTING
from mpslint.records import NamedTuple
from mpslint.semantics.purpose.caught_errors import is_caught
from mpslint.semantics.syntax.index import walk

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_JOINING = "|&;"
"""In a command of a shell: what it gives is what another command gives."""
_PROGRAM = "nvidia-smi"
# Fact: GPUtil 1.4, GPUtil.py: `getFirstAvailable` raises where none is left.
_FIRST = "GPUtil.getFirstAvailable"


class Asked(NamedTuple):
    """A question to the driver, and what it raises on a Mac."""

    node: ast.expr
    text: str
    by_request: bool = False
    """In a function that does nothing else for torch: those who have a driver may be the only ones
    to call it."""


def asked_of_driver(context: Context) -> Iterator[Asked]:
    """What a Mac comes to of them, and whose error nobody deals with."""
    for call in context.calls_of(*STARTING):
        error = _error_of(context, call)
        if error is not None and _ends_there(context, call, error):
            text = f"there is no {_PROGRAM} on a Mac: raises {error}"
            yield Asked(call, text, _only_asks(context, call))
    for call in context.calls_of(_FIRST):
        if _ends_there(context, call, "RuntimeError"):
            text = f"{_FIRST}() finds no NVIDIA GPU on a Mac: raises RuntimeError"
            yield Asked(call, text, _only_asks(context, call))
    for call in context.calls_of(*DRIVER_LISTS):
        for item in _items_of(context, call):
            if _ends_there(context, item, "IndexError"):
                text = f"{context.resolve(call.func)}() finds no NVIDIA GPU on a Mac"
                yield Asked(item, f"{text}: raises IndexError", _only_asks(context, call))


def _error_of(context: Context, call: ast.Call) -> str | None:
    """What starting the driver's program raises where it is not; None: nothing, or another one."""
    command = call.args[0] if call.args else None
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    if isinstance(command, ast.Name):
        given = context.flow.reaching(command)
        command = given[0].value if len(given) == 1 and given[0].kind == "assign" else None
    first = (
        command.elts[0] if isinstance(command, ast.List | ast.Tuple) and command.elts else command
    )
    if isinstance(first, ast.JoinedStr) and first.values:
        first = first.values[0]
    if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
        return None
    words = first.value.split()
    if not words or words[0] != _PROGRAM or None in named:
        return None
    shell = named.get("shell")
    if shell is None or (isinstance(shell, ast.Constant) and not shell.value):
        return "FileNotFoundError"
    if context.resolve(call.func) not in CHECKING or any(sign in first.value for sign in _JOINING):
        return None
    return "CalledProcessError"


def _items_of(context: Context, call: ast.Call) -> Iterator[ast.Subscript]:
    """Where an item of what a call gives is asked for, there or by the name that holds it."""
    parent = context.index.parents[call]
    held: list[ast.expr] = [call]
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
        held = [
            use
            for use in context.index.names[parent.targets[0].id]
            if isinstance(use.ctx, ast.Load)
            and [binding.value for binding in context.flow.reaching(use)] == [call]
        ]
    for value in held:
        item = context.index.parents[value]
        if isinstance(item, ast.Subscript) and item.value is value:
            if not isinstance(item.slice, ast.Slice):
                yield item


def _ends_there(context: Context, node: ast.expr, error: str) -> bool:
    return context.worlds.breaks(node) and not is_caught(context, node, error)


def _only_asks(context: Context, call: ast.Call) -> bool:
    function = context.index.function(call)
    if function is None:
        return False
    return not any(
        (context.resolve(item) or "").partition(".")[0] == "torch"
        for item in walk(function)
        if isinstance(item, ast.Name)
    )
