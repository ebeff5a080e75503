"""What says itself that it is float64 and is moved by `.cuda()`: where that becomes `.to(device)`,
the move is told its dtype next, in the same run."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Fix
from mpslint.patterns.calls import rewrite_call
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.moves import move_level
from mpslint.patterns.precision import NARROW, is_left_beside_wide
from mpslint.patterns.selection import reference
from mpslint.patterns.text import quote
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.wide.wide_dtypes import Request

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_MOVING = "MPS102"
"""The code whose fix brings the device."""


def is_moved_to_cuda(context: Context, call: ast.Call) -> bool:
    """Whether `x.cuda()` moves a tensor."""
    return (
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "cuda"
        and not call.args
        and not call.keywords
        and context.values.of(call.func.value).kind is not Kind.MODULE
    )


def moved_level(context: Context, call: ast.Call, wide: str) -> Applicability | None:
    """The level of `narrow_moved`: that of the move; None where that is not made."""
    settings = context.settings
    if _MOVING not in settings.enabled(context.source.path) or not settings.may_fix(_MOVING):
        return None
    level = move_level(context, call)
    assert isinstance(call.func, ast.Attribute)
    request = Request("moved", call, None, None, call.func.value, certain=False)
    if level is not None and is_left_beside_wide(context, request, wide):
        return Applicability.UNSAFE
    return level


def narrow_moved(context: Context, call: ast.Call, wide: str) -> Fix | None:
    """The move to the device with the dtype that it has there. It waits for the fix of the move
    itself, which may choose another device, or take a test away."""
    torch = torch_name(context, call)
    found = reference(context, call) if torch is not None else None
    if found is None:
        return None
    mark = quote(context.source)
    test = f"{found.type_text} == {mark}mps{mark}"
    dtype = f"{torch}.{NARROW[wide]} if {test} else {torch}.{wide}"
    edits = rewrite_call(context, call, found._replace(text=f"{found.text}, dtype={dtype}"))
    if edits is None:
        return None
    level = min(found.level, moved_level(context, call, wide) or Applicability.UNSAFE)
    message = f"Keep {wide} where the device has it"
    return Fix(message, (*found.edits, *edits), level, waits=True)
