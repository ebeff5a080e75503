"""Reads by NumPy that copy to the CPU only where there is CUDA.

`x.cpu().numpy() if use_gpu else x.numpy()`: where `use_gpu` asks for CUDA alone, a Mac takes the
arm without the copy, also once its tensors are on its GPU.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.worlds.events import Event, Kind
from mpslint.semantics.worlds.machines import MAC, PORTED
from mpslint.semantics.worlds.values import DEVICE, TENSOR, Tests, cases_of, where

if TYPE_CHECKING:
    from mpslint.semantics.worlds.file import Worlds


def uncopied_reads(worlds: Worlds) -> Iterator[Event]:
    """Where a Mac's arm of a conditional gives NumPy what CUDA's arm copies to the CPU before."""
    reads = worlds.events(Kind.READ)
    copied = {
        (event.function, event.arm)
        for event in reads
        if event.once_ported and not event.on_mac and _is_copied(event)
    }
    for event in reads:
        if event.on_mac and not event.once_ported and not event.caught:
            if (event.function, event.arm) in copied and not _is_copied(event):
                yield event


def raising_once_ported(worlds: Worlds) -> Iterator[tuple[Event, ast.expr]]:
    """Those of them that raise once a Mac's GPU is chosen, with the test that asks for CUDA alone:
    another choice than that test puts the tensor there."""
    run = worlds.run
    for event in uncopied_reads(worlds):
        asking = event.tests & run.cuda_tests
        if not asking or not event.tests.isdisjoint(run.mps_tests | run.device_tests):
            continue
        if _places(worlds, asking) or not _is_placed(worlds, event, asking):
            continue
        yield event, min(asking, key=lambda test: (test.lineno, test.col_offset))


def _places(worlds: Worlds, asking: Tests) -> bool:
    """Whether a test of these also decides where something goes: where it fails, that stays on the
    CPU."""
    for event in worlds.events(Kind.MOVED, Kind.TYPED, Kind.PLACED):
        if not event.on_mac and not event.tests.isdisjoint(asking):
            return True
        for _, atom in cases_of(event.value, event.worlds & PORTED):
            if atom.kind == DEVICE and not atom.tests.isdisjoint(asking):
                return True
    return False


def _is_placed(worlds: Worlds, event: Event, asking: Tests) -> bool:
    """Whether what is read will be on the GPU: its place hangs on another test, or its function
    brings things to a device that another test, or somebody else, chooses."""
    for _, atom in cases_of(event.value, event.worlds & MAC):
        if atom.kind == TENSOR and where(atom) == "cpu" and atom.tests & worlds.run.cuda_tests:
            return True
    return any(
        atom.kind == DEVICE and where(atom) in ("mps", "?") and atom.tests.isdisjoint(asking)
        for other in worlds.events(Kind.PLACED)
        if other.function is event.function and other.once_ported and other.on_mac
        for _, atom in cases_of(other.value, other.worlds & PORTED)
    )


def _is_copied(event: Event) -> bool:
    """Whether a copy to the CPU, `.cpu()`, stands before what is read."""
    node: ast.expr = event.call.func
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        if isinstance(node, ast.Attribute) and node.attr == "cpu":
            return True
        node = node.func if isinstance(node, ast.Call) else node.value
    return False
