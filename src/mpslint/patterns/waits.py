"""An arm for MPS beside waits for CUDA, so that clocks are read when the work has run."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Edit, Fix
from mpslint.patterns.backend_arm import serve_mps
from mpslint.semantics.timing.device_work import Effect
from mpslint.semantics.waits.cuda_waits import waits_for_cuda_only

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

WAIT_MESSAGE = "Wait for MPS as well"
UNWAITED = "{}: the clock is read behind a wait for CUDA only"
_KEY = "waits of selections"


def serve_waits(context: Context, call: ast.Call) -> Fix | None:
    """The arm for one wait, and with it those of the other waits of its function: what one of them
    leaves queued would be in the time of the next."""
    fix = serve_mps(context, call, WAIT_MESSAGE)
    if fix is None:
        return None
    function, edits = context.index.function(call), list(fix.edits)
    for other, _ in waits_for_cuda_only(context):
        node = other.node
        if not isinstance(node, ast.Call) or context.index.function(node) is not function:
            continue
        also = serve_mps(context, node, WAIT_MESSAGE)
        edits += [edit for edit in also.edits if edit not in edits] if also is not None else []
    return Fix(WAIT_MESSAGE, tuple(edits), Applicability.SAFE)


def waits_along(context: Context) -> tuple[tuple[Edit, ...], str]:
    """What the waits of a file need where its device becomes MPS, and why that does not do: a time
    that was right on the CPU would be that of the start of the work alone."""
    if _KEY not in context.memo:
        context.memo[_KEY] = _waits_along(context)
    found = context.memo[_KEY]
    assert isinstance(found, tuple)
    return found


def _waits_along(context: Context) -> tuple[tuple[Edit, ...], str]:
    edits: list[Edit] = []
    reason = ""
    for event, pending in waits_for_cuda_only(context):
        if pending is not Effect.WORK or not isinstance(event.node, ast.Call):
            continue
        fix = serve_waits(context, event.node)
        if fix is not None:
            edits += [edit for edit in fix.edits if edit not in edits]
        elif not reason:
            reason = UNWAITED.format(context.line(event.node))
    return tuple(edits), reason
