"""Runs of one program again, to know which of its numbers it repeats."""

from __future__ import annotations

from collections.abc import Callable, Collection

from mpslint.verify import compare, saved
from mpslint.verify.launch import Launch
from mpslint.verify.numbers import Spot
from mpslint.verify.outcome import classify
from mpslint.verify.verdict import Stability


class Repeats:
    """`run` runs the program of a launch once more, in the same place."""

    def __init__(self, run: Callable[[Launch], Launch]) -> None:
        self._run = run
        self._known: dict[tuple[str, str], Stability] = {}

    def of(self, reference: Launch | None) -> Stability:
        """What changes from run to run. A program that repeats itself is run twice; one that does
        not, three times, since a number may be the same in two runs by chance.
        """
        assert reference is not None
        key = (reference.device, reference.kind)
        if key not in self._known:
            found = _between(reference, [self._run(reference)])
            if found.changes:
                found = _between(reference, [*found.runs[1:], self._run(reference)])
            self._known[key] = found
        return self._known[key]


def _between(reference: Launch, others: list[Launch]) -> Stability:
    same = all(
        classify(other).ok and compare.values(reference, other, compare.SAME_DEVICE) is None
        for other in others
    )
    lines: set[Spot] = set()
    logs: set[Spot] = set()
    files: dict[str, Collection[Spot] | None] = {}
    for other in others:
        lines |= compare.unstable_lines(reference, other)
        logs |= compare.unstable_logs(reference, other)
        files = saved.either(files, compare.unstable_files(reference, other))
    return Stability(same, lines, files, logs, (reference, *others))
