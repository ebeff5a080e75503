"""Refusals to run without CUDA, of code that a Mac could run once it is ported."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.worlds.events import Event, Kind
from mpslint.semantics.worlds.machines import CUDA, MAC, PORTED, mac_of_cuda

if TYPE_CHECKING:
    from mpslint.semantics.worlds.file import Worlds


def needless_refusals(worlds: Worlds) -> list[ast.expr]:
    """The tests of assertions and exits that turn a Mac away, and behind which nothing is CUDA's
    own: a test of the machine, not of a device that somebody chose."""
    return _refusals(worlds, asked=False)


def refusals_of_those_who_ask(worlds: Worlds) -> list[ast.expr]:
    """As `needless_refusals`, of a Mac whose user has asked for CUDA: who did not goes on. A switch
    that is on by itself asks for everybody."""
    return _refusals(worlds, asked=True)


def _refusals(worlds: Worlds, *, asked: bool) -> list[ast.expr]:
    run = worlds.run
    found: dict[ast.expr, None] = {}
    for event in worlds.events(Kind.REFUSED):
        ends = run.ends.get(event.function, 0)  # type: ignore[call-overload]
        if not ends & PORTED or bool(event.likely and ends & MAC) is not asked:
            continue
        if ends & MAC and not event.tests.isdisjoint(run.device_tests):
            continue  # A device that somebody chose.
        asking = (event.tests & run.cuda_tests) - run.device_tests
        for test in sorted(asking, key=_place)[:1]:  # One refusal, however much it asks.
            found[test] = None
    return sorted(found, key=_place)


def refusal_before(worlds: Worlds, event: Event) -> ast.expr | None:
    """The needless refusal that keeps a Mac from an event, where it is one that does; the call of
    what refuses, where that stands in another file."""
    if event.on_mac or not event.once_ported:
        return None
    refusals = (*needless_refusals(worlds), *sorted(worlds.run.refusing, key=_place))
    return next((test for test in refusals if test in event.tests), None)


def is_behind_refusal(event: Event) -> bool:
    """Whether a Mac comes not to an event because it was refused before: told of where that is."""
    wanted = mac_of_cuda(event.worlds & CUDA)
    return not event.on_mac and bool(wanted) and not wanted & ~event.refused


def _place(test: ast.expr) -> tuple[int, int]:
    return test.lineno, test.col_offset
