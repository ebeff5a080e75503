"""`--diff-base REF`: which lines of a file a branch brings, uncommitted ones included."""

from __future__ import annotations

import os
from bisect import bisect_right
from typing import TYPE_CHECKING

from mpslint.errors import BadSource
from mpslint.folders.git import Repository, Rows, is_blob, repository_of
from mpslint.sources.opening import open_source, row_in_text

if TYPE_CHECKING:
    from mpslint.model import Finding
    from mpslint.sources.source import SourceFile


class _Base:
    """What one repository held where the branch began."""

    def __init__(self, repository: Repository, ref: str) -> None:
        self.repository = repository
        commit = repository.merge_base(ref)
        self.blobs = repository.blobs(commit)
        self.renamed = repository.renamed(commit)


class Changes:
    """The changed lines of files, in one repository or several."""

    def __init__(self, ref: str) -> None:
        self._ref = ref
        self._by_folder: dict[str, _Base] = {}
        self._by_top: dict[str, _Base] = {}

    def brings(self, path: str, source: SourceFile) -> Brought:
        """The changed lines of the file at `path`, which reads as `source`. Raises `GitFailed`."""
        real = os.path.realpath(path)
        base = self._base(os.path.dirname(real))
        name = os.path.relpath(real, base.repository.top).replace(os.sep, "/")
        blob = base.blobs.get(base.renamed.get(name, name))
        if blob is None:
            return Brought(source, None)
        if is_blob(source.on_disk, blob):
            return Brought(source, [])
        content = base.repository.content(blob)
        try:
            before = open_source(path, content).text
        except BadSource:
            return Brought(source, None)  # it was no Python then: all of it is new
        return Brought(source, base.repository.changed_rows(before, source.text))

    def _base(self, folder: str) -> _Base:
        if folder not in self._by_folder:
            repository = repository_of(folder)
            if repository.top not in self._by_top:
                self._by_top[repository.top] = _Base(repository, self._ref)
            self._by_folder[folder] = self._by_top[repository.top]
        return self._by_folder[folder]


class Brought:
    """The lines of one file that changed: all of them where `rows` is None."""

    def __init__(self, source: SourceFile, rows: list[Rows] | None) -> None:
        self._source = source
        self._rows = rows

    def __contains__(self, finding: Finding) -> bool:
        if self._rows is None:
            return True
        first = row_in_text(self._source, finding.cell, finding.row)
        last = first + finding.end_row - finding.row
        at = bisect_right(self._rows, last, key=lambda rows: rows.start) - 1
        return at >= 0 and self._rows[at].start + self._rows[at].length > first
