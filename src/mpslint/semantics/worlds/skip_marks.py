"""Decorators by which pytest and unittest skip a test."""

from __future__ import annotations

import ast

from mpslint.semantics.worlds.conditions import Conditions
from mpslint.semantics.worlds.launched import asks_for_several, bound_in, is_about_processes
from mpslint.semantics.worlds.machines import ALL, MAC, NVIDIA, PORTED
from mpslint.semantics.worlds.values import SKIP, UNK, Atom, Value

SKIPS_IF = {
    "pytest.mark.skipif": True,
    "unittest.skipIf": True,
    "unittest.skipUnless": False,
    "unittest.case.skipIf": True,
}
SKIPS = frozenset({"pytest.mark.skip", "unittest.skip", "unittest.case.skip"})


def left_by_skip(run: Conditions, node: ast.Call, when: bool) -> Value:
    """What `skipif(test)` leaves. A test that asks for CUDA is about CUDA, no port's choice; and
    one for the processes of a launcher is for several GPUs, unless it speaks of Gloo."""
    if not node.args:
        return UNK
    test, behind = node.args[0], bound_in(run.tree)
    several = is_about_processes(test, behind) and asks_for_several(test, behind, not when)
    if several and not run.names_gloo:
        return Atom(SKIP, NVIDIA)
    frame = run.frame
    mask, frame.mask = frame.mask, ALL
    recording, run.recording = run.recording, False  # That was told with the arguments.
    yes, no, _ = run.cond(node.args[0])
    frame.mask, run.recording = mask, recording
    left = no if when else yes
    return Atom(SKIP, left if left & MAC else left & ~PORTED)
