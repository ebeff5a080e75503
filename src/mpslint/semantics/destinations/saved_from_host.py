"""Modules that go to the CPU to be saved, and come back where CUDA is alone.

`torch.save(net.cpu().state_dict(), path)` moves the module itself. Who calls `net.cuda()` behind
it, below a test for CUDA, leaves it on the CPU of a Mac, where the next step meets inputs on MPS.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import root_name
from mpslint.semantics.worlds.machines import MAC

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_SAVED = "state_dict"
_BACK = frozenset({"to", "cuda"})


def left_on_host(context: Context) -> Iterator[ast.Call]:
    """The calls of `cuda` that bring such a module back, and to which no Mac comes."""
    homes = [
        (call, name)
        for call in context.index.calls.get("cpu", ())
        if _is_saved(context, call) and context.worlds.reach(call) & MAC
        if (name := _module(call)) is not None
    ]
    for home, name in homes:
        function = context.index.function(home)
        back = [
            call
            for way in _BACK
            for call in context.index.calls.get(way, ())
            if _module(call) == name and context.index.function(call) is function
        ]
        if back and not any(context.worlds.reach(call) & MAC for call in back):
            yield back[0]


def _is_saved(context: Context, call: ast.Call) -> bool:
    parent = context.index.parents.get(call)
    return isinstance(parent, ast.Attribute) and parent.attr == _SAVED


def _module(call: ast.Call) -> str | None:
    """The name of what a method is called on, also of what a wrapper holds: `net.module`."""
    if not isinstance(call.func, ast.Attribute):
        return None
    return root_name(call.func.value, ast.Attribute)
