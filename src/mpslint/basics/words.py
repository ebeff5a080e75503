"""Tables of words, written as text."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of a text, which white space parts."""
    return frozenset(text.split())
