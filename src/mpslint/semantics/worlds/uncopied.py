"""Reads by NumPy that copy to the CPU only where there is CUDA.

`x.cpu().numpy() if use_gpu else x.numpy()`: where `use_gpu` asks for CUDA alone, a Mac takes the
arm without the copy, also once its tensors are on its GPU.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator
from typing import TYPE_CHECKING

from mpslint.records import NamedTuple
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


def raising_once_ported(worlds: Worlds) -> dict[ast.AST, ast.expr]:
    """Those of them that raise once a Mac's GPU is chosen, by their call, with the test that asks
    for CUDA alone: another choice than that test puts the tensor there."""
    run = worlds.run
    found: dict[ast.AST, ast.expr] = {}
    placements: _Placements | None = None
    for event in uncopied_reads(worlds):
        asking = event.tests & run.cuda_tests
        if not asking or not event.tests.isdisjoint(run.mps_tests | run.device_tests):
            continue
        placements = placements or _Placements.of(worlds)
        if not asking.isdisjoint(placements.deciding):
            continue  # Where such a test fails, what is read stays on the CPU.
        if placements.reach(event, asking, run.cuda_tests):
            test = min(asking, key=lambda test: (test.lineno, test.col_offset))
            found.setdefault(event.node, test)
    return found


class _Placements(NamedTuple):
    """What a file brings to devices, put together once for all of its reads."""

    deciding: Tests
    """The tests that decide where something goes."""
    chosen: dict[object, set[Tests]]
    """By function: what chose each device that a Mac brings things to there."""

    @classmethod
    def of(cls, worlds: Worlds) -> _Placements:
        deciding: set[ast.expr] = set()
        chosen: dict[object, set[Tests]] = {}
        for event in worlds.events(Kind.MOVED, Kind.TYPED, Kind.PLACED):
            if not event.on_mac:
                deciding |= event.tests
            brings = event.kind is Kind.PLACED and event.once_ported and event.on_mac
            for _, atom in cases_of(event.value, event.worlds & PORTED):
                if atom.kind == DEVICE:
                    deciding |= atom.tests
                    if brings and where(atom) in ("mps", "?"):
                        chosen.setdefault(event.function, set()).add(atom.tests)
        return cls(frozenset(deciding), chosen)

    def reach(self, event: Event, asking: Tests, cuda_tests: Container[ast.expr]) -> bool:
        """Whether what is read will be on the GPU: its place hangs on another test, or its function
        brings things to a device that another test, or somebody else, chooses."""
        for _, atom in cases_of(event.value, event.worlds & MAC):
            if atom.kind == TENSOR and where(atom) == "cpu":
                if any(test in cuda_tests for test in atom.tests):
                    return True
        return any(tests.isdisjoint(asking) for tests in self.chosen.get(event.function, ()))


def _is_copied(event: Event) -> bool:
    """Whether a copy to the CPU, `.cpu()`, stands before what is read."""
    node: ast.expr = event.call.func
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        if isinstance(node, ast.Attribute) and node.attr == "cpu":
            return True
        node = node.func if isinstance(node, ast.Call) else node.value
    return False
