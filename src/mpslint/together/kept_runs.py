"""Runs of files that were judged, kept until the rules have looked at what they became: the same
among the same files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.fixing.shared_runs import SharedRuns
    from mpslint.sources.source import SourceFile

_BYTES = 2_000_000
"""Of the text of the files of which runs are kept: some thirty megabytes."""


class KeptRuns:
    def __init__(self) -> None:
        self._left = _BYTES
        self._known: dict[str, tuple[SharedRuns, int]] = {}

    def has_room(self, source: SourceFile) -> bool:
        """Whether there is room for one of a text more."""
        self._left -= len(source.data)
        return self._left > 0

    def note(self, path: str, runs: SharedRuns, let_go: int) -> None:
        """Notes that the run of a file is kept, when so many runs of modules were taken apart."""
        self._known[path] = runs, let_go

    def require(self, path: str, let_go: int) -> None:
        """Lets go of the run of a file that may rest on one that was taken apart since."""
        if path in self._known and self._known[path][1] != let_go:
            self._known[path][0].release()

    def release(self) -> None:
        for runs, _ in self._known.values():
            runs.release()
        self._known.clear()
        self._left = _BYTES
