"""Comments that silence findings: `# noqa`, `# mpslint: ignore[...]`, `# mpslint: skip-file`.

Only real comments count (a string that reads like one does not), and the file is tokenised
only when its bytes hold such a word. Line comments hold for findings that begin or end on
their line; a multi-line string or a line continued by a backslash is one line, as in flake8.
`# mpslint: skip-file`, `# mpslint: cuda-only` and `# flake8: noqa` hold for the whole file
wherever they stand alone on a line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mpslint.basics.expressions import later
from mpslint.records import NamedTuple

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from mpslint.model import Finding
    from mpslint.sources.source import SourceFile

_NOQA = later(r"# noqa(?::[\s]?(?P<codes>(?:[A-Z]+[0-9]+(?:[,\s]+)?)+))?", re.IGNORECASE)
_IGNORE = later(r"#\s*mpslint:\s*ignore(?:\[(?P<rules>[^\]]*)\])?(?=\s|$)", re.IGNORECASE)
_WHOLE = later(r"#\s*mpslint:\s*(?:skip-file|cuda-only)(?=\W|$)", re.IGNORECASE)
_FLAKE8 = later(
    r"#\s*flake8[:=]\s*noqa(?P<codes>:\s?(?:[A-Z]+[0-9]+(?:[,\s]+)?)+)?\s*$", re.IGNORECASE
)
_SPOKEN = later(r"noqa|mpslint:", re.IGNORECASE)
_SMALL = later("noqa|mpslint:")
_CODE = later(r"[^,:\s]+")
_JUDGED = later(rb"noqa[^\r\n]*mps\d|mpslint:\s*ignore")
"""In a text in small letters."""


def may_silence(data: bytes) -> bool:
    """Whether a file can hold a comment that silences anything."""
    # An expression that heeds no case is tried at each letter.
    lower = data.lower()
    return b"noqa" in lower or b"mpslint:" in lower


def may_be_unused(data: bytes) -> bool:
    """Whether a file can hold a comment of which it can be said that it silences nothing."""
    lower = data.lower()
    if b"mps" not in lower or (b"noqa" not in lower and b"mpslint:" not in lower):
        return False
    return _JUDGED.search(lower) is not None


class Comment(NamedTuple):
    offset: int
    row: int
    first_row: int
    """Row on which the comment's line begins, before it when a token spans rows."""
    text: str
    alone: bool


class Code(NamedTuple):
    """A code, a prefix or a name, where it stands in the text."""

    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    def names(self, code: str, name: str) -> bool:
        """Whether it stands for this rule."""
        return code.startswith(self.text.upper()) or self.text.lower() == name


class Silence:
    """One directive: silent about everything (`codes` None), or about what they name."""

    __slots__ = ("codes", "comment", "end", "of_file", "ours", "start", "used")

    def __init__(
        self,
        comment: Comment,
        span: tuple[int, int],
        codes: tuple[Code, ...] | None,
        *,
        ours: bool,
        of_file: bool = False,
    ) -> None:
        self.comment = comment
        self.start, self.end = span
        """Offsets of the directive, which need not be the whole comment."""
        self.codes = codes
        self.ours = ours
        """Whether it is none of other tools' business."""
        self.of_file = of_file
        self.used: set[Code | None] = set()
        """What of it has silenced a finding."""

    def silences(self, finding: Finding) -> bool:
        if self.codes is None:
            self.used.add(None)
            return True
        named = [code for code in self.codes if code.names(finding.code, finding.name)]
        self.used.update(named)
        return bool(named)

    def names_outright(self, code: str, name: str) -> bool:
        """Whether it names a rule by more than the family."""
        return any(
            one.names(code, name) and one.text.upper() != code.rstrip("0123456789")
            for one in self.codes or ()
        )


class Suppressions:
    """What the comments of one file silence."""

    __slots__ = ("_noqa", "_of_file", "_rows", "silences", "whole_file")

    def __init__(
        self, source: SourceFile, *, noqa: bool = True, tree: ast.Module | None = None
    ) -> None:
        """Without `noqa` comments of that kind are not heard; mpslint's own still are. With the
        file's tree only the parts are read that can hold one."""
        self._noqa = noqa
        self.whole_file = False
        """Whether the file asks to be left alone."""
        self.silences: list[Silence] = []
        """Those with codes, and those of mpslint's own."""
        self._of_file: list[Silence] = []
        self._rows: dict[int, list[Silence]] = {}
        if may_silence(source.data):
            for comment in _spoken(source, tree) if tree is not None else comments(source):
                self._read(comment)

    def covers(self, finding: Finding) -> bool:
        """Whether a comment silences `finding`; notes which."""
        # All of them are asked: each that silences it is of use.
        told = [one.silences(finding) for one in self._about(finding)]
        return True in told

    def covers_judgement(self, finding: Finding, at: int) -> bool:
        """Whether a comment silences what is found of the directive at offset `at`: this one itself
        only where it says so in as many words, or it could never be found fault with."""
        return any(
            one.start != at or one.names_outright(finding.code, finding.name)
            for one in self._about(finding)
            if one.silences(finding)
        )

    def _about(self, finding: Finding) -> Iterator[Silence]:
        yield from self._of_file
        yield from self._rows.get(finding.row, ())
        if finding.end_row != finding.row:
            yield from self._rows.get(finding.end_row, ())

    def _read(self, comment: Comment) -> None:
        if comment.alone and self._read_whole_file(comment):
            return
        silences = list(_silences(comment, self._noqa))
        self.silences += silences
        for row in range(comment.first_row, comment.row + 1) if silences else ():
            self._rows.setdefault(row, []).extend(silences)

    def _read_whole_file(self, comment: Comment) -> bool:
        if _WHOLE.match(comment.text):
            self.whole_file = True
            return True
        match = _FLAKE8.match(comment.text)
        if match is None or not self._noqa:
            return False
        if match["codes"]:
            codes = _split(match["codes"], comment.offset + match.start("codes"))
            silence = Silence(comment, _span(comment, match), codes, ours=False, of_file=True)
            self.silences.append(silence)
            self._of_file.append(silence)
        else:
            self.whole_file = True
        return True


def _silences(comment: Comment, noqa: bool) -> Iterator[Silence]:
    match = _NOQA.search(comment.text)
    if match and noqa:
        codes = match["codes"]
        at = comment.offset + match.start("codes")
        named = _split(codes, at) if codes else None
        yield Silence(comment, _span(comment, match), named, ours=False)
    match = _IGNORE.search(comment.text)
    if match:
        rules = match["rules"]
        at = comment.offset + match.start("rules")
        named = None if rules is None else _split(rules, at)
        yield Silence(comment, _span(comment, match), named, ours=True)


def noqa_end(comment: Comment) -> int | None:
    """The offset behind the last code of a `# noqa: ...` in a comment; None where there is none."""
    match = _NOQA.search(comment.text)
    if match is None or not match["codes"]:
        return None
    return comment.offset + match.start("codes") + len(match["codes"].rstrip(", \t"))


def _span(comment: Comment, match: re.Match[str]) -> tuple[int, int]:
    """Offsets of the directive itself, without the reason behind it."""
    return comment.offset + match.start(), comment.offset + len(
        match.string[: match.end()].rstrip()
    )


def _split(text: str, at: int) -> tuple[Code, ...]:
    """The codes of a list that begins at offset `at`."""
    return tuple(Code(part[0], at + part.start()) for part in _CODE.finditer(text))


class Line(NamedTuple):
    """One line of code as comments see it: a token that spans rows, or a backslash, holds several
    rows together."""

    first: int
    last: int
    end: int
    """Offset of its end, without the newline."""
    comment: Comment | None


def comments(source: SourceFile) -> Iterator[Comment]:
    """The real comments of a file; nothing for what the tokenizer refuses."""
    return (line.comment for line in lines(source) if line.comment is not None)


def _spoken(source: SourceFile, tree: ast.Module) -> Iterator[Comment]:
    """The comments of those statements of a file that hold a word for us; reading them all costs
    more than parsing the file does."""
    from bisect import bisect_right

    from mpslint.sources.cuts import parts_with

    starts = source.starts
    said = [bisect_right(starts, at) for at in _said(source.text)]
    for first, last in parts_with(said, tree.body, source.line, len(starts)):
        for line in lines(source, first, last):
            if line.comment is not None:
                yield line.comment


def _said(text: str) -> list[int]:
    """Where the words for us stand."""
    if text.isascii():  # Then small letters stand where the large ones did.
        return [match.start() for match in _SMALL.finditer(text.lower())]
    return [match.start() for match in _SPOKEN.finditer(text)]


def lines(source: SourceFile, top: int = 1, bottom: int | None = None) -> Iterator[Line]:
    """The lines of a file, or of some rows that read alone as they do in it; up to what the
    tokenizer refuses."""
    import tokenize

    opening, closing = _string_tokens("START"), _string_tokens("END")
    rows = (
        f"{source.line(row)}\n"
        for row in range(top, (len(source.starts) if bottom is None else bottom) + 1)
    )
    first, alone, inside = 0, True, 0
    comment: Comment | None = None
    try:
        for kind, text, place, _, _ in tokenize.generate_tokens(lambda: next(rows, "")):
            if kind in (tokenize.INDENT, tokenize.DEDENT):
                continue
            start = place[0] + top - 1, place[1]
            first = first or start[0]
            inside += (kind in opening) - (kind in closing)
            if kind == tokenize.COMMENT:
                offset = source.starts[start[0] - 1] + start[1]
                comment = Comment(offset, start[0], first, text, alone)
            elif kind in (tokenize.NL, tokenize.NEWLINE) and not inside:
                row = min(start[0], len(source.starts))
                end = source.starts[row - 1] + len(source.line(row))
                yield Line(first, row, end, comment)
                first, alone, comment = 0, True, None
            else:
                alone = False
    except (tokenize.TokenError, SyntaxError):
        if comment is not None:
            yield Line(first, comment.row, comment.offset + len(comment.text), comment)


def _string_tokens(what: str) -> tuple[int, ...]:
    """The tokens that begin or end a string which is tokenised itself (Python 3.12, 3.14)."""
    import token

    names = (f"FSTRING_{what}", f"TSTRING_{what}")
    return tuple(getattr(token, name) for name in names if hasattr(token, name))
