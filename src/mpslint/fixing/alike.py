"""What goes along with fixes although nobody is told of it: it reads the same as what changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mpslint.checking.linter import Linted
    from mpslint.model import Finding, Fix
    from mpslint.sources.source import SourceFile


class Along:
    """What goes along with fixes: findings that nobody is told of, where what reads the same has
    been changed. Of equal lines one that stays looks forgotten."""

    def __init__(self) -> None:
        self._changed: set[tuple[str, str]] = set()
        self._begun = False

    def saw(self, landed: Iterable[tuple[Finding, Fix]], source: SourceFile) -> None:
        self._changed.update((one.code, _token(one, source)) for one, _ in landed)

    def begins(self, known: Linted, source: SourceFile) -> bool:
        """Whether there is something, once all else is done; asked once."""
        first, self._begun = not self._begun, True
        return first and bool(self.of(known, source))

    def of(self, known: Linted, source: SourceFile) -> list[Finding]:
        if not self._begun:
            return []
        return [one for one in known.alike if (one.code, _token(one, source)) in self._changed]


def _token(finding: Finding, source: SourceFile) -> str:
    start = source.starts[finding.row - 1] + finding.column - 1
    end = source.starts[finding.end_row - 1] + finding.end_column - 1
    return source.text[start:end]
