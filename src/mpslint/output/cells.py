"""Text as a terminal shows it: wide characters, tabs, and lines cut to a width."""

from __future__ import annotations

import unicodedata

from mpslint.basics.printable import printable

_MARK = "..."


def cells(text: str) -> int:
    """Terminal cells: wide characters take two, combining ones none."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def _cells(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut_right(text: str, room: int) -> str:
    """`text` within `room` cells; what is too much at its end becomes three dots."""
    if cells(text) <= room:
        return text
    kept, width = [], len(_MARK)
    for char in text:
        width += _cells(char)
        if width > room:
            break
        kept.append(char)
    return "".join(kept) + _MARK


def cut_left(text: str, room: int | None) -> str:
    """The same, cut at the start; the whole text where there is no bound."""
    return text if room is None else cut_right(text[::-1], room)[::-1]


def wrapped(text: str, room: int | None, first: int | None = None) -> list[str]:
    """`text` in lines of so many cells (`first`: those of the first one), parted at blanks; a
    longer word is broken. One line where there is no bound."""
    if room is None:
        return [text]
    lines, line, left = list[str](), "", room if first is None else first
    for word in text.split(" "):
        wanted = f"{line} {word}" if line else word
        if cells(wanted) <= left:
            line = wanted
            continue
        if line:
            lines.append(line)
            left = room
        *full, line = _broken(word, left, room)
        lines += full
        left = room if full else left
    return [*lines, line]


def _broken(word: str, first: int, room: int) -> list[str]:
    """A word in pieces that fit."""
    pieces, width, left = [""], 0, first
    for char in word:
        width += _cells(char)
        if width > left and pieces[-1]:
            pieces.append("")
            width, left = _cells(char), room
        pieces[-1] += char
    return pieces


def cut(line: str, column: int, end: int, room: int) -> tuple[str, str]:
    """The line (as it can be shown) cut around [column, end), and a line of carets below that."""
    before, token, after = line[: column - 1], line[column - 1 : end - 1], line[end - 1 :]
    before, token, after = (
        printable(part.replace("\t", "    ")) for part in (before, token, after)
    )
    before = cut_left(before, max(room // 2, room - cells(token) - len(_MARK)))
    token = cut_right(token, max(room - cells(before), len(_MARK) + 1))
    after = cut_right(after, room - cells(before) - cells(token))
    if room - cells(before) - cells(token) < len(_MARK):
        after = ""
    return before + token + after, " " * cells(before) + "^" * max(cells(token), 1)
