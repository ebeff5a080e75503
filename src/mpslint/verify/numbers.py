"""Numbers that a script printed, line by line, and whether two runs printed the same ones."""

from __future__ import annotations

import itertools
import json
import math
import re
import sys
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from mpslint.verify.machine_words import without_machine

# No longer than a float can tell apart: what is longer is a hash or a key.
_REAL = r"(?:\d{1,400}\.\d{0,400}|\.\d{1,400}|\d{1,400})(?:[eE][-+]?\d{1,6})?"
# A sign belongs to a number unless something stands before it (7-3); the imaginary part of a
# complex number always has one.
_NUMBER = re.compile(
    rf"((?<=[\w.])[-+](?:{_REAL}|nan|inf)j(?![\w.])|(?<![\w.])[-+]?(?:{_REAL}|nan|inf)j?(?![\w.]))"
)


SAME_DEVICE = 1e-6
"""The same program text on the same simulated device must agree to the last bit; the margin is for
sums that a thread pool adds up in another order."""

_DIGITS = re.compile(r"\d+")  # a name's own are no result


class Printed(NamedTuple):
    """A number and the weight of its last printed digit (0 for whole numbers, which are counted,
    not rounded, and for `2.`).
    """

    value: float
    unit: float


Line = tuple[Printed, ...]
Spot = tuple[int, int | None]
"""A line and which of its numbers; None stands for all of them."""


def _printed(text: str) -> Printed:
    text = text.rstrip("j")
    mantissa, _, exponent = text.lower().partition("e")
    value = float(text)
    # `2.` is how torch and NumPy print what is whole to the last bit: nothing was rounded away.
    if not exponent and not mantissa.partition(".")[2]:
        return Printed(value, 0.0)
    power = int(exponent or 0) - len(mantissa.partition(".")[2])
    # 1e999 is infinite, and nothing is near that.
    near = math.isfinite(value) and power <= sys.float_info.max_10_exp
    return Printed(value, 10.0**power if near else 0.0)


def of(text: str) -> list[Line]:
    """The numbers of each line that has some, but for those about time, memory and the machine."""
    return [numbers for line in text.splitlines() if (numbers := _of_line(line))]


def _of_line(line: str) -> Line:
    document = _document(line)
    said = [line] if document is None else _leaves(document)
    return tuple(
        _printed(number) for words in said for number in _NUMBER.findall(without_machine(words))
    )


def _document(text: str) -> Any:
    """The JSON object or list that a text is; None for every other text."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict | list) else None


def _leaves(value: Any, keys: str = "") -> Iterator[str]:
    """A line for each value of a document, behind the keys that lead to it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{keys} {key}")
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, keys)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        words = _DIGITS.sub("", keys).strip()
        yield f"{words}: {value!r}" if words else repr(value)


def of_document(text: str) -> list[Line]:
    """The numbers of a file: each value of a JSON document by itself, else line by line."""
    document = _document(text)
    if document is None:
        return of(text)
    return [numbers for words in _leaves(document) if (numbers := _of_line(words))]


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


def same(one: Printed, two: Printed, tolerance: float) -> bool:
    """Whether both may be one number, as it was printed."""
    if close(one.value, two.value, tolerance):
        return True
    # Two values on either side of a rounding border print one unit apart; one that ends in zeros
    # may be printed without them.
    return tolerance > 0 and abs(one.value - two.value) <= 1.01 * min(one.unit, two.unit)


def different_line(
    one: Sequence[Line], two: Sequence[Line], tolerance: float, skip: Collection[Spot] = ()
) -> tuple[Line, Line] | None:
    """The first pair of lines that differ, or None; a missing line counts as an empty one."""
    for index in range(max(len(one), len(two))):
        left = one[index] if index < len(one) else ()
        right = two[index] if index < len(two) else ()
        if (index, None) not in skip and _differ(index, left, right, tolerance, skip):
            return left, right
    return None


def _differ(index: int, left: Line, right: Line, tolerance: float, skip: Collection[Spot]) -> bool:
    if len(left) != len(right):
        return True
    return any(
        (index, at) not in skip and not same(a, b, tolerance)
        for at, (a, b) in enumerate(zip(left, right, strict=True))
    )


def unstable(one: Sequence[Line], two: Sequence[Line]) -> set[Spot]:
    """The numbers that two runs of one program print differently; all of a line where they print
    more or fewer of them.
    """
    found: set[Spot] = set()
    for index, (left, right) in enumerate(itertools.zip_longest(one, two, fillvalue=())):
        if len(left) != len(right):
            found.add((index, None))
        else:
            pairs = enumerate(zip(left, right, strict=True))
            found.update((index, at) for at, (a, b) in pairs if a != b)
    return found


def spared(lines: Sequence[Line], skip: Collection[Spot]) -> bool:
    """Whether any number is left when these are left out."""
    return any(
        (index, None) not in skip and any((index, at) not in skip for at in range(len(line)))
        for index, line in enumerate(lines)
    )
