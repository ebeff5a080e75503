"""Comments that silence findings: `# noqa`, `# mpslint: ignore[...]`, `# mpslint: skip-file`.

Only real comments count (a string that reads like one does not), and the file is tokenised
only when its bytes hold such a word. Line comments hold for findings that begin or end on
their line; a multi-line string or a line continued by a backslash is one line, as in flake8.
`# mpslint: skip-file`, `# mpslint: cuda-only` and `# flake8: noqa` hold for the whole file
wherever they stand alone on a line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.model import Finding
    from mpslint.source import SourceFile

_NOQA = re.compile(r"# noqa(?::[\s]?(?P<codes>(?:[A-Z]+[0-9]+(?:[,\s]+)?)+))?", re.IGNORECASE)
_IGNORE = re.compile(r"#\s*mpslint:\s*ignore(?:\[(?P<rules>[^\]]*)\])?(?=\s|$)", re.IGNORECASE)
_WHOLE = re.compile(r"#\s*mpslint:\s*(?:skip-file|cuda-only)(?=\W|$)", re.IGNORECASE)
_FLAKE8 = re.compile(
    r"#\s*flake8[:=]\s*noqa(?P<codes>:\s?(?:[A-Z]+[0-9]+(?:[,\s]+)?)+)?\s*$", re.IGNORECASE
)
_WORDS = re.compile(rb"noqa|mpslint:", re.IGNORECASE)
_SEPARATORS = re.compile(r"[,\s]+")


def may_silence(data: bytes) -> bool:
    """Whether a file can hold a comment that silences anything."""
    return _WORDS.search(data) is not None


class Comment(NamedTuple):
    offset: int
    row: int
    first_row: int
    """Row on which the comment's line begins, before it when a token spans rows."""
    text: str
    alone: bool


class _Silence(NamedTuple):
    """What one line is silent about: everything (`codes` None), or these prefixes and names."""

    codes: tuple[str, ...] | None


class Suppressions:
    """What the comments of one file silence."""

    __slots__ = ("_file_codes", "_noqa", "_rows", "whole_file")

    def __init__(self, source: SourceFile, *, noqa: bool = True) -> None:
        """Without `noqa` comments of that kind are not heard; mpslint's own still are."""
        self._noqa = noqa
        self.whole_file = False
        """Whether the file asks to be left alone."""
        self._file_codes: tuple[str, ...] = ()
        self._rows: dict[int, list[_Silence]] = {}
        if _WORDS.search(source.data):
            for comment in comments(source):
                self._read(comment)

    def covers(self, finding: Finding) -> bool:
        """Whether a comment silences `finding`."""
        if self._file_codes and finding.code.startswith(self._file_codes):
            return True
        if not self._rows:
            return False
        silences = [*self._rows.get(finding.row, ()), *self._rows.get(finding.end_row, ())]
        return any(_names(silence, finding) for silence in silences)

    def _read(self, comment: Comment) -> None:
        if comment.alone and self._read_whole_file(comment.text):
            return
        silences = list(_silences(comment.text, self._noqa))
        for row in range(comment.first_row, comment.row + 1) if silences else ():
            self._rows.setdefault(row, []).extend(silences)

    def _read_whole_file(self, text: str) -> bool:
        if _WHOLE.match(text):
            self.whole_file = True
            return True
        match = _FLAKE8.match(text)
        if match is None or not self._noqa:
            return False
        if match["codes"]:
            self._file_codes += _split(match["codes"][1:].upper())
        else:
            self.whole_file = True
        return True


def _silences(text: str, noqa: bool) -> Iterator[_Silence]:
    match = _NOQA.search(text)
    if match and noqa:
        codes = match["codes"]
        yield _Silence(_split(codes.upper()) if codes else None)
    match = _IGNORE.search(text)
    if match:
        rules = match["rules"]
        yield _Silence(None if rules is None else _split(rules))


def _split(text: str) -> tuple[str, ...]:
    return tuple(part for part in _SEPARATORS.split(text.strip()) if part)


def _names(silence: _Silence, finding: Finding) -> bool:
    if silence.codes is None:
        return True
    return any(
        finding.code.startswith(code.upper()) or code.lower() == finding.name
        for code in silence.codes
    )


def comments(source: SourceFile) -> Iterator[Comment]:
    """The real comments of a file; nothing for what the tokenizer refuses."""
    import tokenize

    rows = (f"{source.line(row)}\n" for row in range(1, len(source.starts) + 1))
    first, alone = 0, True
    try:
        for kind, text, start, _, _ in tokenize.generate_tokens(lambda: next(rows, "")):
            if kind in (tokenize.INDENT, tokenize.DEDENT):
                continue
            first = first or start[0]
            if kind == tokenize.COMMENT:
                yield Comment(source.starts[start[0] - 1] + start[1], start[0], first, text, alone)
            elif kind in (tokenize.NL, tokenize.NEWLINE):
                first, alone = 0, True
            else:
                alone = False
    except (tokenize.TokenError, SyntaxError):
        return
