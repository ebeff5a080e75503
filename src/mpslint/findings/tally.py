"""What became of the findings of a file: fixed, gone along with others, left; and what came up.

`check` counts what it finds in the text as it is. Fixes take findings along that have none of their
own, and bring up others that could not be seen before: neither is among what was promised.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mpslint.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

Place = tuple[str, int]
"""A finding by its code and its row in the text as it was."""


class Tally(NamedTuple):
    """Numbers of findings."""

    fixed: int = 0
    """Found in the text as it was, and fixed."""
    gone: int = 0
    """Found there without being fixed themselves, and no longer there."""
    left: int = 0
    """Found there, and still there."""
    raised_fixed: int = 0
    """Not found there: what a fix brought up and another fixed."""
    raised_left: int = 0
    """Not found there: what a fix brought up and nothing fixed."""

    def plus(self, other: Tally) -> Tally:
        return Tally(*(one + more for one, more in zip(self, other, strict=True)))


def tally(found: Counter[Place], fixed: Iterable[Place], left: Iterable[Place]) -> Tally:
    """What became of what was `found` in the text as it was."""
    mended, remaining = Counter(fixed), Counter(left)
    own = found & mended
    still = (found - own) & remaining
    # What a fix wrote around has another row: it is known by its code.
    moved = _codes(found - own - still) & _codes(remaining - still)
    return Tally(
        own.total(),
        (found - own - still).total() - moved.total(),
        still.total() + moved.total(),
        (mended - own).total(),
        (remaining - still).total() - moved.total(),
    )


def _codes(places: Counter[Place]) -> Counter[str]:
    codes: Counter[str] = Counter()
    for (code, _), number in places.items():
        codes[code] += number
    return codes
