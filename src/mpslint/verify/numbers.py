"""Numbers that a script printed, line by line, and whether two runs printed the same ones."""

from __future__ import annotations

import itertools
import math
import re
import sys
from collections.abc import Collection, Sequence
from typing import NamedTuple

from mpslint.verify.machine_words import without_machine

# No longer than a float can tell apart: what is longer is a hash or a key.
_REAL = r"(?:\d{1,400}\.\d{0,400}|\.\d{1,400}|\d{1,400})(?:[eE][-+]?\d{1,6})?"
# A sign belongs to a number unless something stands before it (7-3); the imaginary part of a
# complex number always has one.
_NUMBER = re.compile(
    rf"((?<=[\w.])[-+](?:{_REAL}|nan|inf)j(?![\w.])|(?<![\w.])[-+]?(?:{_REAL}|nan|inf)j?(?![\w.]))"
)


class Printed(NamedTuple):
    """A number and the weight of its last printed digit (0 for whole numbers, which are counted,
    not rounded).
    """

    value: float
    unit: float


Line = tuple[Printed, ...]


def _printed(text: str) -> Printed:
    text = text.rstrip("j")
    mantissa, _, exponent = text.lower().partition("e")
    value = float(text)
    if "." not in text and not exponent:
        return Printed(value, 0.0)
    power = int(exponent or 0) - len(mantissa.partition(".")[2])
    # 1e999 is infinite, and nothing is near that.
    near = math.isfinite(value) and power <= sys.float_info.max_10_exp
    return Printed(value, 10.0**power if near else 0.0)


def of(text: str) -> list[Line]:
    """The numbers of each line that has some, but for those about time, memory and the machine."""
    found = []
    for line in text.splitlines():
        numbers = tuple(_printed(number) for number in _NUMBER.findall(without_machine(line)))
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
