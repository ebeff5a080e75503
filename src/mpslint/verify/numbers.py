"""Numbers that a script printed, line by line, and whether two runs printed the same ones."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

_NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?(?![\w.])|\b(?:nan|inf)\b"
)
# Words and units around numbers that tell about the machine, not about the model.
_MACHINE = re.compile(
    r"\b(time|took|elapsed|seconds?|secs?|ms|us|eta|it/s|s/it|samples/s\w*|tok(en)?s?/s\w*|throughput|speed|fps"
    r"|tflops?|gflops?|mfu|mem(ory)?|[kmg]i?b|gpu|cuda|mps|device|pid|date|version|threads?|cores?|workers?)\b"
    r"|\d(ms|s|us|ns|GB|MB|KB|GiB|MiB)\b|\d+:\d\d|\d{4}-\d\d-\d\d|0x[0-9a-f]+",
    re.IGNORECASE,
)


class Printed(NamedTuple):
    """A number and the weight of its last printed digit (0 for whole numbers, which are counted,
    not rounded).
    """

    value: float
    unit: float


Line = tuple[Printed, ...]


def _printed(text: str) -> Printed:
    mantissa, _, exponent = text.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    if "." not in text and not exponent:
        return Printed(float(text), 0.0)
    return Printed(float(text), 10.0 ** (int(exponent or 0) - decimals))


def of(text: str) -> list[Line]:
    """The numbers of each line that has some and does not speak of time, memory or the machine."""
    found = []
    for line in text.splitlines():
        if _MACHINE.search(line):
            continue
        numbers = tuple(_printed(number) for number in _NUMBER.findall(line))
        if numbers:
            found.append(numbers)
    return found


def close(one: float, two: float, tolerance: float) -> bool:
    """Equal within a relative tolerance; NaN equals NaN."""
    if math.isnan(one) or math.isnan(two):
        return math.isnan(one) and math.isnan(two)
    return one == two or math.isclose(one, two, rel_tol=tolerance, abs_tol=tolerance * 1e-3)


def first_difference(one: Sequence[float], two: Sequence[float], tolerance: float) -> int | None:
    """Index of the first pair that is not close (the shorter length, when the lengths differ)."""
    for index, (a, b) in enumerate(zip(one, two, strict=False)):
        if not close(a, b, tolerance):
            return index
    return min(len(one), len(two)) if len(one) != len(two) else None


def _same(one: Printed, two: Printed, tolerance: float) -> bool:
    if close(one.value, two.value, tolerance):
        return True
    # Two values on either side of a rounding border print one unit apart.
    return tolerance > 0 and abs(one.value - two.value) <= 1.01 * max(one.unit, two.unit)


def different_line(
    one: Sequence[Line], two: Sequence[Line], tolerance: float, skip: Collection[int] = ()
) -> tuple[Line, Line] | None:
    """The first pair of lines that differ, or None; a missing line counts as an empty one."""
    for index in range(max(len(one), len(two))):
        left = one[index] if index < len(one) else ()
        right = two[index] if index < len(two) else ()
        same = len(left) == len(right) and all(map(_same, left, right, [tolerance] * len(left)))
        if not same and index not in skip:
            return left, right
    return None


def unstable_lines(one: Sequence[Line], two: Sequence[Line]) -> set[int]:
    """Indices of the lines that two runs of one program print differently."""
    pairs = itertools.zip_longest(one, two)
    return {index for index, (left, right) in enumerate(pairs) if left != right}
