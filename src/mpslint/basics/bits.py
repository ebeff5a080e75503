"""Sets of whole numbers as one whole number, with a bit for each."""

from __future__ import annotations

from collections.abc import Iterator

_FEW = 16


def bit_places(bits: int) -> Iterator[int]:
    """The places of the bits, the lowest first."""
    if bits.bit_count() < _FEW:
        while bits:
            lowest = bits & -bits
            bits ^= lowest
            yield lowest.bit_length() - 1
        return
    # All of a number is gone through once, not for each of its bits.
    digits = bin(bits)[:1:-1]
    at = digits.find("1")
    while at >= 0:
        yield at
        at = digits.find("1", at + 1)
