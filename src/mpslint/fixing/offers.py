"""Which fixes may be made in a text, and at what level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.findings.suppress import comments
from mpslint.model import Applicability, Finding, Fix
from mpslint.rules.registry import UNUSED

if TYPE_CHECKING:
    from mpslint.settings.settings import Settings
    from mpslint.sources.source import SourceFile


class _Comments:
    """The comments of a text, looked for only when an edit takes away a `#`."""

    def __init__(self, source: SourceFile) -> None:
        self._source = source
        self._places: list[tuple[int, str]] | None = None

    def lost(self, fix: Fix) -> bool:
        """Whether `fix` would take away a comment and not write it again."""
        suspects = [edit for edit in fix.edits if "#" in edit.expect]
        if not suspects:
            return False
        if self._places is None:
            self._places = [(c.offset, c.text) for c in comments(self._source)]
        return any(
            edit.start <= offset < edit.end and all(text not in other.text for other in fix.edits)
            for edit in suspects
            for offset, text in self._places
        )


class Offers:
    """Which fixes may be made in a text, and at what level."""

    def __init__(self, source: SourceFile, settings: Settings) -> None:
        self._source = source
        self._settings = settings
        self._written = _Comments(source)

    def of(self, finding: Finding) -> Fix | None:
        """The fix of a finding of this text at the level that holds here; None for no fix.

        Unsafe at best when a comment would go that is not the finding itself, or where a project
        does without CUDA, so that no fix keeps the choices that a CUDA machine made.
        """
        fix = finding.fix
        if fix is None or not all(self._source.accepts(edit) for edit in fix.edits):
            return None
        if finding.code == UNUSED:
            return fix
        if "cuda" not in self._settings.device_order or self._written.lost(fix):
            level = min(fix.applicability, Applicability.UNSAFE)
            return fix._replace(applicability=level)
        return fix
