"""What goes to where a tensor is only if that is CUDA: `if x.is_cuda: mean = mean.to(x.device)`.

The move itself is right on every machine; it is the test around it that leaves `mean` on the CPU
beside an `x` on MPS.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.worlds.events import Event, Kind
from mpslint.semantics.worlds.machines import CUDA, MACS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_ASKING = "is_cuda"


def followed_on_cuda(context: Context) -> Iterator[ast.Call]:
    """Moves by `.to()` below a test of `is_cuda` that have no counterpart for a Mac."""
    if not context.index.attributes.get(_ASKING):
        return
    placing = context.worlds.events(Kind.PLACED)
    moved_elsewhere = {(event.function, event.arm) for event in placing if event.worlds & MACS}
    for event in placing:
        call = event.node
        if not isinstance(call, ast.Call) or not _is_move(call):
            continue
        if event.caught or not event.worlds & CUDA or event.worlds & MACS:
            continue
        if _is_gated(event) and (event.function, event.arm) not in moved_elsewhere:
            yield call


def _is_move(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "to"


def _is_gated(event: Event) -> bool:
    """Whether a test of `is_cuda` is what keeps a Mac away."""
    return bool(event.arm) and any(
        isinstance(item, ast.Attribute) and item.attr == _ASKING
        for test in (event.gate, *event.tests)
        if test is not None
        for item in ast.walk(test)
    )
