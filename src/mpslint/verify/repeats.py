"""Runs of one program again, to know which of its numbers it repeats."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

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

    def of(self, reference: Launch | None, ports: Iterable[Launch] = ()) -> Stability:
        """What changes from run to run. A program that repeats itself is run twice; one that does
        not, three times, since a number may be the same in two runs by chance.

        ports: runs of the port. One that gave the very same numbers in the same place is the second
        run: those of a program that changes from run to run no other would give.
        """
        assert reference is not None
        key = (reference.device, reference.kind)
        if key not in self._known:
            port = next((port for port in ports if _agree(reference, port)), None)
            found = _between(reference, [port]) if port is not None else None
            self._known[key] = found if found and not found.changes else self._run_again(reference)
        return self._known[key]

    def _run_again(self, reference: Launch) -> Stability:
        found = _between(reference, [self._run(reference)])
        if found.changes:
            found = _between(reference, [*found.runs[1:], self._run(reference)])
        return found


def _agree(reference: Launch, port: Launch) -> bool:
    """Whether they did as much in the same place, with the same numbers as far as any are shown."""
    if _extent(reference) != _extent(port) or not classify(port).ok:
        return False
    unlike = (
        compare.values(reference, port, compare.SAME_DEVICE)
        or compare.printed(reference, port, 0.0)
        or compare.logged(reference, port, 0.0)
        or compare.files(reference, port, 0.0)
    )
    cut = reference.ended.cut or port.ended.cut
    return unlike is None and not cut and compare.has_numbers(reference)


def _extent(run: Launch) -> tuple[object, ...]:
    counts = (len(run.value("losses", [])), len(run.value("params_digest", [])))
    return (run.device, run.kind, run.outcome, run.steps, *counts)


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
