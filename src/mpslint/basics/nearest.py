"""The name that somebody meant who wrote one which does not exist."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST = 60
_LEAST_BEGINNING = 3
_LETTERS_A_SLIP = 4
"""One letter may be wrong, left out, too many or changed with the next for each so many."""


def nearest(word: str, names: Iterable[str]) -> str | None:
    """The one of `names` that `word` is a slip of, or the beginning; None where none is near.

    Two words that share letters are not near: a name that is not what was meant sends people the
    wrong way.
    """
    given = _plain(word)
    if len(given) < 2:
        return None
    known = [(_plain(name), name) for name in names]
    most = max(1, len(given) // _LETTERS_A_SLIP)
    close = [(slips(given, plain), name) for plain, name in known if len(plain) > 1]
    best = min((count for count, _ in close), default=most + 1)
    if best <= most:
        return next(name for count, name in close if count == best)
    begun = [name for plain, name in known if plain.startswith(given)]
    return begun[0] if len(begun) == 1 and len(given) >= _LEAST_BEGINNING else None


def _plain(name: str) -> str:
    return name[:_LONGEST].lower().replace("_", "-").lstrip("-")


def slips(one: str, other: str) -> int:
    """How many letters are wrong, missing, too many or in the order of each other."""
    before: list[int] = []
    above = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        row = [i]
        for j, theirs in enumerate(other, 1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != theirs))
            swapped = i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == theirs
            row.append(min(cost, before[j - 2] + 1) if swapped else cost)
        before, above = above, row
    return above[-1]
