"""Edits of a cell's text as edits of the JSON strings that hold it.

What is not edited keeps its very escapes. A string that holds one line is split where an edit
adds lines, as notebooks are saved, with the separators that the list already uses.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from mpslint.model import Edit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.sources.notebook.document import Cell, Token

_UNIT = re.compile(r"\\u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|\\u\w{4}|\\.|[^\\]", re.S)
"""One character of a JSON string as it is written."""


def json_edits(raw: str, cell: Cell, edits: Sequence[Edit]) -> list[Edit]:
    """Edits of `raw`, the notebook's JSON, for edits of one cell's text (in order)."""
    out: list[Edit] = []
    for first, last, group in _groups(cell.tokens, edits):
        tokens = cell.tokens[first : last + 1]
        pieces = _written(raw, tokens, group)
        if cell.in_list and all(_is_one_line(token) for token in tokens):
            out.append(_relisted(raw, cell, first, last, _lines(pieces)))
        else:
            out += _in_place(raw, tokens, group)
    return out


def _groups(
    tokens: tuple[Token, ...], edits: Sequence[Edit]
) -> list[tuple[int, int, list[tuple[int, Edit]]]]:
    """Runs of tokens that edits touch, with those edits as (offset of the run, edit)."""
    bounds, at = [], 0
    for token in tokens:
        bounds.append((at, at + len(token.text)))
        at += len(token.text)
    groups: list[tuple[int, int, list[tuple[int, Edit]]]] = []
    for edit in edits:
        first = _holder(bounds, edit.start, edit.end > edit.start)
        last = max(first, _holder(bounds, edit.end - 1, True)) if edit.end > edit.start else first
        if groups and first <= groups[-1][1]:
            start, end, members = groups[-1]
            groups[-1] = (start, max(end, last), [*members, (bounds[start][0], edit)])
        else:
            groups.append((first, last, [(bounds[first][0], edit)]))
    return groups


def _holder(bounds: list[tuple[int, int]], offset: int, inside: bool) -> int:
    """The token that holds a character; for an insertion at the very end, the last one."""
    for number, (start, end) in enumerate(bounds):
        if start <= offset < end:
            return number
    return len(bounds) - 1


def _written(raw: str, tokens: Sequence[Token], group: Sequence[tuple[int, Edit]]) -> list[str]:
    """The new content as JSON writes it, unit by unit."""
    units = [unit for token in tokens for unit in _UNIT.findall(raw[token.start : token.end])]
    out, at = [], 0
    for base, edit in group:
        out += units[at : edit.start - base]
        out += _UNIT.findall(_escaped(edit.text, raw))
        at = edit.end - base
    return [*out, *units[at:]]


def _escaped(text: str, raw: str) -> str:
    return json.dumps(text, ensure_ascii=raw.isascii())[1:-1]


def _lines(units: list[str]) -> list[str]:
    """Units joined to lines, each with its newline."""
    lines, line = [], list[str]()
    for unit in units:
        line.append(unit)
        if unit in ("\\n", "\\u000a", "\\u000A"):
            lines.append("".join(line))
            line = []
    return [*lines, "".join(line)] if line else lines


def _is_one_line(token: Token) -> bool:
    return "\n" not in token.text[:-1]


def _relisted(raw: str, cell: Cell, first: int, last: int, lines: list[str]) -> Edit:
    """The strings `first` to `last` of the list, which become `lines`."""
    tokens = cell.tokens
    start, end = tokens[first].start - 1, tokens[last].end + 1
    if lines:
        separator = _separator(raw, cell, first)
        text = separator.join(f'"{line}"' for line in lines)
    else:
        text = ""
        if last + 1 < len(tokens):
            end = tokens[last + 1].start - 1
        elif first:
            start = tokens[first - 1].end + 1
    return Edit(start, end, text, raw[start:end])


def _separator(raw: str, cell: Cell, first: int) -> str:
    """What stands between two strings of the list: that of a neighbour, else a comma and
    whatever stands before the only one."""
    tokens = cell.tokens
    if len(tokens) > 1:
        at = min(first, len(tokens) - 2)
        return raw[tokens[at].end + 1 : tokens[at + 1].start - 1]
    start = tokens[0].start - 1
    return "," + raw[raw.rindex("[", 0, start) + 1 : start]


def _in_place(raw: str, tokens: Sequence[Token], group: Sequence[tuple[int, Edit]]) -> list[Edit]:
    """Each edit inside the strings it touches; what it writes goes into the first of them."""
    out = []
    for base, edit in group:
        text, at = _escaped(edit.text, raw), base
        for number, token in enumerate(tokens):
            start, end = max(edit.start, at), min(edit.end, at + len(token.text))
            touches = start < end or (
                edit.start == edit.end
                and at <= edit.start
                and (edit.start < at + len(token.text) or number == len(tokens) - 1)
            )
            if touches:
                units = _UNIT.findall(raw[token.start : token.end])
                begin = token.start + sum(map(len, units[: start - at]))
                stop = begin + sum(map(len, units[start - at : max(end, start) - at]))
                out.append(Edit(begin, stop, text, raw[begin:stop]))
                text = ""
            at += len(token.text)
    return out
