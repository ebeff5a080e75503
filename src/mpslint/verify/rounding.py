"""How far rounding alone moves a program's numbers, and whether another run's are within that.

Two devices add in another order. What that makes of a training after a hundred steps no fixed
tolerance can say: of one it is the last digit, of another, as of two networks that train against
each other, the third. So the original is run once more with its weights moved by one unit in the
last place: what that changes is what rounding makes of its numbers. A port need not use autocast on
a device that gains nothing by it: then its numbers are those of the original with autocast off.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from mpslint.verify import compare, contents, numbers, saved
from mpslint.verify.contents import Saved
from mpslint.verify.launch import Launch
from mpslint.verify.numbers import Line, Spot
from mpslint.verify.outcome import classify

_TIMES = 10.0  # what one such run shows, since the other device's rounding is another draw
_WIDEST = 0.1  # of a number's size: a wider margin tells nothing
_CLOSE = 1e-4  # of a tensor's norm, as everywhere
# Relative distance of two numbers of a type, and how many of these a result may be off by chance.
_EPSILON = {"bfloat16": 2.0**-7, "float16": 2.0**-10}
_DIGITS = 2.0
_SMALL = 0.1  # of the average size: a loss near zero is not held against its own size


class Margins:
    """What an original's numbers are allowed on another device.

    `runs`: the same program in which rounding is another; `said`: in words; `least`: a share of
    each number that it may be off whatever those runs show, of single steps nothing is known then.
    """

    def __init__(
        self, reference: Launch, runs: Sequence[Launch], how: str = "", least: float = 0.0
    ) -> None:
        self.reference, self.runs, self.least = reference, tuple(runs), least
        within = ["to within what rounding alone makes of them"] if runs else []
        self.said = "".join(f", {words}" for words in (how, *within) if words)

    def beyond(
        self,
        patched: Launch,
        tolerance: float,
        lines: Collection[Spot] = (),
        logs: Collection[Spot] = (),
        files: saved.Unstable | None = None,
    ) -> str | None:
        """What lies further from the original's than these margins, in words."""
        return (
            self._losses(patched, tolerance)
            or self._weights(patched, tolerance)
            or self._lines("print", compare.printed_lines, patched, tolerance, lines)
            or self._lines("log", compare.logged_lines, patched, tolerance, logs)
            or self._files(patched, tolerance, files or {})
        )

    def _losses(self, patched: Launch, tolerance: float) -> str | None:
        one, two = _losses(self.reference), _losses(patched)
        others = [_losses(run) for run in self.runs]
        if any(len(series) != len(one) for series in [two, *others]):
            return "another number of losses"
        allowed = margins(one, others, self.least)
        for at, (a, b) in enumerate(zip(one, two, strict=True)):
            if not near(a, b, tolerance, allowed[at]):
                return f"loss {at + 1} is {b:.7g}, the original's {a:.7g}"
        return None

    def _weights(self, patched: Launch, tolerance: float) -> str | None:
        one, two = _digests(self.reference), _digests(patched)
        others = [_digests(run) for run in self.runs]
        if any(len(series) != len(one) for series in [two, *others]):
            return "the weights were not looked at as often"
        for key in ("l2", "sum"):
            a, b = [row[key] for row in one], [row[key] for row in two]
            rest = [[row[key] for row in other] for other in others]
            sizes = [tolerance * row["l2"] for row in one]
            at = _first_beyond(a, b, sizes, margins(a, rest, self.least))
            if at is None and not self.least:
                least = [
                    max(compare.UPDATE * abs(step), tolerance * 1e-2 * abs(size))
                    for step, size in zip(_steps(a), a[1:], strict=True)
                ]
                allowed = margins(_steps(a), [_steps(other) for other in rest], self.least)
                at = _first_beyond(_steps(a), _steps(b), least, allowed)
                at = None if at is None else at + 1
            if at is not None:
                return f"the parameters differ after step {one[at]['step']}"
        return None

    def _lines(
        self,
        verb: str,
        of: compare.Reading,
        patched: Launch,
        tolerance: float,
        skip: Collection[Spot],
    ) -> str | None:
        others = [of(run) for run in self.runs]
        found = different_line(of(self.reference), others, of(patched), tolerance, skip, self.least)
        if found is None:
            return None
        left, right = compare.shown(*found)
        return f"it {verb}s {right} where the original {verb}s {left}"

    def _files(self, patched: Launch, tolerance: float, skip: saved.Unstable) -> str | None:
        for path, one in self.reference.saved.items():
            if skip.get(path, ()) is None:
                continue
            others = [run.saved[path] for run in self.runs if path in run.saved]
            two = patched.saved.get(path)
            if two is None or len(others) < len(self.runs):
                return saved.difference({path: one}, patched.saved, tolerance, skip)
            narrow = patched.device == "mps"
            spots = skip.get(path) or ()
            if not _same_file(one, others, two, tolerance, spots, narrow, self.least):
                return saved.difference({path: one}, patched.saved, tolerance, skip)
        return None


class Rounded:
    """`run` runs the program of a launch once more, with options of the harness."""

    def __init__(self, run: Callable[[Launch, tuple[str, ...]], Launch]) -> None:
        self._run = run
        self._known: dict[tuple[str, tuple[str, ...]], Launch] = {}

    def of(self, reference: Launch | None, patched: Launch) -> Iterator[Margins]:
        """What is allowed around the numbers of this run; on another device than its own a port may
        well do without autocast, and then around those that the program gives without.
        """
        if reference is None or reference.kind == "real":
            return
        if does_without(reference, patched):
            yield from self.in_full(reference)
        elif (moved := self._once(reference, _NUDGED)) is not None:
            yield Margins(reference, [moved])

    def in_full(self, reference: Launch) -> Iterator[Margins]:
        """Around the numbers that it gives without autocast: none, then what rounding makes."""
        full = self._once(reference, IN_FULL)
        if full is not None:
            yield Margins(full, [], "without autocast")
            if (moved := self._once(reference, IN_FULL + _NUDGED)) is not None:
                yield Margins(full, [moved], "without autocast")

    def told_in_full(self, reference: Launch | None, patched: Launch) -> bool:
        """Whether the run, which does without autocast, was held against the program without it."""
        if reference is None or not does_without(reference, patched):
            return False
        return (reference.device, IN_FULL) in self._known and bool(self._once(reference, IN_FULL))

    def of_autocast(self, reference: Launch) -> Margins | None:
        """Around its numbers, as far as autocast moves them."""
        full = self._once(reference, IN_FULL)
        if full is None:
            return None
        coarsest = max((_EPSILON.get(name, 0.0) for name in lowered(reference)), default=0.0)
        return Margins(reference, [full], least=_DIGITS * coarsest)

    def _once(self, reference: Launch, options: tuple[str, ...]) -> Launch | None:
        """A run that ends as the reference does."""
        key = (reference.device, options)
        if key not in self._known:
            self._known[key] = self._run(reference, options)
        run = self._known[key]
        return run if classify(run).ok and run.outcome == reference.outcome else None


_NUDGED, IN_FULL = ("--nudge", "1"), ("--full-precision",)


SCALER = "GradScaler"


def lowered(launch: Launch) -> set[str]:
    """The types below float32 that autocast used in a run, and GradScaler."""
    return set(launch.value("lowered", []))


def does_without(reference: Launch, patched: Launch) -> bool:
    """Whether autocast was used in the one run and not in the other, on another device; a scaler
    without autocast changes no number.
    """
    if (reference.device, reference.kind) == (patched.device, patched.kind):
        return False
    used, here = lowered(reference), lowered(patched)
    return bool(used) and used != here and here <= {SCALER}


def margins(
    one: Sequence[float], others: Sequence[Sequence[float]], share_at_least: float = 0.0
) -> list[float]:
    """How far each number of a series may lie from it; a margin never shrinks from one to the next,
    since what differs once goes on to differ.
    """
    sizes = [abs(value) for value in one]
    least = _SMALL * sum(sizes) / len(sizes) if sizes else 0.0
    share, allowed = share_at_least / _TIMES, []
    for at, value in enumerate(one):
        size = max(abs(value), least)
        for other in others:
            apart = abs(other[at] - value)
            if size and apart == apart:
                share = max(share, apart / size)
        allowed.append(min(_TIMES * share, _WIDEST) * size)
    return allowed


def _steps(series: Sequence[float]) -> list[float]:
    """What a learning rate that is a little off changes is lost in the weights themselves."""
    return [after - before for before, after in itertools.pairwise(series)]


def _first_beyond(
    one: Sequence[float], two: Sequence[float], least: Sequence[float], allowed: Sequence[float]
) -> int | None:
    rows = enumerate(zip(one, two, least, allowed, strict=True))
    return next((at for at, (a, b, low, high) in rows if not _within(a, b, low + high)), None)


def near(one: float, two: float, tolerance: float, margin: float) -> bool:
    return numbers.close(one, two, tolerance) or _within(one, two, margin)


def _within(one: float, two: float, margin: float) -> bool:
    """Whether two numbers are no further apart; NaN is as far as can be from all but itself."""
    return one == two or (one != one and two != two) or abs(one - two) <= margin


def different_line(
    one: Sequence[Line],
    others: Sequence[Sequence[Line]],
    two: Sequence[Line],
    tolerance: float,
    skip: Collection[Spot] = (),
    least: float = 0.0,
) -> tuple[Line, Line] | None:
    """The first pair of lines that differ by more than the numbers in the same place of lines of
    the same length do, so far, between the one run and the others.
    """
    shape = [len(line) for line in one]
    if any([len(line) for line in run] != shape for run in [two, *others]):
        return numbers.different_line(one, two, tolerance, skip)
    columns: dict[tuple[int, int], list[int]] = {}
    for index, line in enumerate(one):
        for at in range(len(line)):
            columns.setdefault((len(line), at), []).append(index)
    allowed: dict[tuple[int, int], float] = {}
    for (_, at), rows in columns.items():
        series = [one[row][at].value for row in rows]
        moved = [[run[row][at].value for row in rows] for run in others]
        for row, margin in zip(rows, margins(series, moved, least), strict=True):
            allowed[row, at] = margin
    for index, (left, right) in enumerate(zip(one, two, strict=True)):
        if (index, None) in skip:
            continue
        for at, (a, b) in enumerate(zip(left, right, strict=True)):
            if (index, at) in skip or numbers.same(a, b, tolerance):
                continue
            if not _within(a.value, b.value, allowed[index, at] + min(a.unit, b.unit)):
                return left, right
    return None


def _same_file(
    one: Saved,
    others: Sequence[Saved],
    two: Saved,
    tolerance: float,
    skip: Collection[Spot],
    narrow: bool,
    least: float = 0.0,
) -> bool:
    """Texts line by line, tensors by their norms and sums; of others nothing is known."""
    if saved.difference({"": one}, {"": two}, tolerance, {"": skip}) is None:
        return True
    if isinstance(one, contents.Shown | contents.Unknown | contents.Unread):
        return False
    if saved.called_otherwise(one, two, tolerance) is not None:
        return False
    lines = [contents.lines_of(file) for file in (one, two, *others)]
    if different_line(lines[0], lines[2:], lines[1], tolerance, skip, least) is not None:
        return False
    parts = [contents.parts_of(file) for file in (one, two, *others)]
    return _same_tensors(parts[0], parts[2:], parts[1], narrow, least)


def _same_tensors(
    one: Mapping[str, contents.Part],
    others: Sequence[Mapping[str, contents.Part]],
    two: Mapping[str, contents.Part],
    narrow: bool,
    least: float = 0.0,
) -> bool:
    """By norms and sums; narrow: where there is no float64, the same values may take half the room.
    The tensors of a file have one margin: by chance a single run leaves the
    norm of one as it was.
    """
    runs = [two, *others]
    if any(run.keys() != one.keys() for run in runs):
        return False
    for name, part in one.items():
        sizes = {part.size, part.size // 2} if narrow else {part.size}
        if two[name].size not in sizes or any(other[name].size != part.size for other in others):
            return False
    moved = [_moved(part, other[name]) for other in others for name, part in one.items()]
    allowed = min(max(_TIMES * max(moved, default=0.0) + _CLOSE, least), _WIDEST)
    return all(_moved(part, two[name]) <= allowed for name, part in one.items())


def _moved(one: contents.Part, two: contents.Part) -> float:
    """How far the norm and the sum of a tensor are from another's, as a share of its norm."""
    a, b = one.values, two.values
    if one.digest == two.digest:
        return 0.0
    if not (a.is_known and b.is_known) or a.not_finite != b.not_finite:
        return math.inf
    apart = max(abs(a.norm - b.norm), abs(a.total - b.total))
    return apart / a.norm if a.norm else math.inf if apart else 0.0


def _losses(launch: Launch) -> list[float]:
    return [float(loss) for loss in launch.value("losses", [])]


def _digests(launch: Launch) -> list[dict[str, float]]:
    return list(launch.value("params_digest", []))
