"""What is for MPS, and is come to where there is none: by machines that never asked, by those that
only asked what torch was built for, by all that have no CUDA."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.worlds.events import Event, Kind
from mpslint.semantics.worlds.machines import HOLLOW, MACS, NVIDIA, PLAIN

if TYPE_CHECKING:
    from mpslint.semantics.worlds.file import Worlds


def honest(worlds: int) -> int:
    """Of the machines without MPS those that say so, whatever they are asked."""
    return worlds & ~MACS & ~HOLLOW


def tells_hollow(event: Event) -> bool:
    """Whether a machine whose torch is only built for more than it has fares differently."""
    return bool(event.worlds & HOLLOW) != bool(event.worlds & PLAIN)


def build_tests(worlds: Worlds, event: Event) -> list[ast.expr]:
    """The tests of the build alone behind which an event stands, in source order."""
    if not tells_hollow(event):
        return []
    return sorted(event.tests & worlds.run.build_tests, key=_place)


def replaces_cuda(worlds: Worlds, event: Event) -> list[ast.expr]:
    """The tests by which a device is chosen wherever CUDA is absent, in source order; none where
    it is not the other arm of a choice of CUDA."""
    if not event.worlds & PLAIN or event.worlds & NVIDIA:
        return []
    tests: set[ast.expr] = set()
    for other in worlds.events(Kind.NAMED):
        if other.name == "cuda" and other.function is event.function:
            if not other.worlds & PLAIN:
                tests |= other.tests & event.tests & worlds.run.cuda_tests
    return sorted(tests, key=_place)


def named(worlds: Worlds, backends: Iterable[str]) -> Iterator[Event]:
    """Where devices of these types are written out, each once."""
    wanted, seen = frozenset(backends), set()
    if not worlds.writes(wanted):
        return
    for event in worlds.events(Kind.NAMED):
        if event.name in wanted and event.node not in seen:
            seen.add(event.node)
            yield event


def _place(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset
