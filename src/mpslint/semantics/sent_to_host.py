"""Whether somebody sent to the CPU what would have been on MPS, before it is computed with there.

`work = "cpu" if device.type == "mps" else device` knows what MPS lacks, and so does
`if x.device.type == "mps": x = x.cpu()`: the analysis by worlds knows where that leaves a tensor.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.worlds.events import Kind
from mpslint.semantics.worlds.machines import MACS
from mpslint.semantics.worlds.values import BOT, cases_of, where

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def is_sent_to_host(context: Context, call: ast.Call) -> bool:
    """Whether what a call computes with, or makes, is on the CPU of a Mac, since a test of the
    device has decided that. Where nothing was decided, a tensor of the CPU may be moved later."""
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
