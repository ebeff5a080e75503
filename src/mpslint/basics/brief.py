"""Pieces of code within a sentence: whole words, and no more of them than a reader takes in."""

from __future__ import annotations

_END = "..."
_JOINTS = " ,([{=+-*/"


def brief(code: str, most: int) -> str:
    """The first line of a piece of code, cut where a word ends."""
    first = (code.splitlines() or [""])[0]
    if len(first) <= most:
        return first
    room = most - len(_END)
    at = max((first.rfind(one, 0, room + 1) for one in _JOINTS), default=-1)
    return first[: at if at > 0 else room].rstrip(_JOINTS) + _END
