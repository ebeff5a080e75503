"""`.cuda()` becomes `.to(device)`, alone or with the `if cuda:` around it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Fix
from mpslint.patterns.calls import named_index, overrides_cuda, rewrite_call
from mpslint.patterns.gates import gates_level, only_asked, open_gates
from mpslint.patterns.ranked import move_ranked
from mpslint.patterns.selection import Reference, reference
from mpslint.semantics.ranks import rank_of

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


_GUARDED = frozenset({"cuda", "asked-cuda", "no-mps", "caught"})


def move_level(context: Context, call: ast.Call) -> Applicability | None:
    """What `move_to_device` will come to, as far as that costs little; None: no fix."""
    if context.guards.at(call) & _GUARDED:
        level = gates_level(context)
        if level is not None or not only_asked(context):
            return level
    if rank_of(context, call) is not None:
        return Applicability.SAFE
    edits = rewrite_call(context, call, Reference(context.settings.device_name, False, ()))
    return Applicability.SAFE if edits is not None else None


def move_to_device(context: Context, call: ast.Call) -> Fix | None:
    """The fix for one `.cuda()`; None where it names a GPU of its own or is guarded otherwise."""
    if context.guards.at(call) & _GUARDED:
        opened = open_gates(context)
        if opened is not None or not only_asked(context):
            return opened
    ranked = move_ranked(context, call)
    if ranked is not None:
        return ranked
    found = reference(context, call, named_index(call))
    if found is None:
        return None
    edits = rewrite_call(context, call, found)
    if edits is None:
        return None
    level = Applicability.UNSAFE if overrides_cuda(context, call) else found.level
    return Fix("Move to the selected device", (*found.edits, *edits), level)
