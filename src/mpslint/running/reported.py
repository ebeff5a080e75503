"""Which of the findings of a run count: those that no baseline knows, on lines that changed.

What does not count is neither reported nor fixed. All front ends ask here, so that they agree.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mpslint.errors import BadSource
from mpslint.model import Confidence, Severity
from mpslint.sources.opening import open_source, row_in_text
from mpslint.sources.reading import read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mpslint.findings.baseline import Baseline, Entry
    from mpslint.findings.changes import Changes
    from mpslint.findings.results import FileResult
    from mpslint.fixing.fixer import Hidden
    from mpslint.model import Finding
    from mpslint.settings.file import SettingsFinder
    from mpslint.settings.settings import Settings
    from mpslint.sources.source import SourceFile


class Reported:
    """What counts in one run; it remembers what of the baselines it met."""

    def __init__(self, finder: SettingsFinder, diff_base: str | None = None) -> None:
        self._finder = finder
        self._changes: Changes | None = None
        self._diff_base = diff_base
        self._baselines: dict[str, Baseline] = {}
        self._checked: dict[str, Settings] = {}

    def narrow(
        self, result: FileResult, settings: Settings, data: bytes | None = None
    ) -> tuple[FileResult, Hidden]:
        """The result without the findings that do not count, and which those are. `data` is what
        was checked, where it is not what lies on disk. Raises `BadBaseline` and `GitFailed`."""
        if settings.baseline is None and self._diff_base is None:
            return result, frozenset()
        if result.error is None and settings.baseline is not None:
            self._checked[os.path.abspath(result.path)] = settings
            self.baseline(settings.baseline)
        if not result.findings:
            return result, frozenset()
        try:
            content = read_bytes(result.path) if data is None else data
            source = open_source(result.path, content)
        except BadSource:
            return result, frozenset()  # it went away since it was checked
        counting: Sequence[Finding] = result.findings
        if settings.baseline is not None:
            baseline = self.baseline(settings.baseline)
            counting = baseline.unknown(result.path, counting, source)
        if self._diff_base is not None:
            brought = self._changed().brings(result.path, source)
            counting = [finding for finding in counting if finding in brought]
        left = {id(finding) for finding in counting}
        hidden = frozenset(place_of(f, source) for f in result.findings if id(f) not in left)
        from mpslint.porting.in_the_way import weighs

        beside = (one for one in result.findings if id(one) not in left and weighs(one))
        untold = (*result.untold, *beside)
        return result._replace(findings=tuple(counting), untold=untold), hidden

    def baseline(self, path: str) -> Baseline:
        """The baseline in a file, read once. Raises `BadBaseline`."""
        path = os.path.abspath(path)
        if path not in self._baselines:
            from mpslint.findings.baseline import read_baseline

            self._baselines[path] = read_baseline(path)
        return self._baselines[path]

    def gone(self, paths: Iterable[str]) -> list[tuple[Entry, int]]:
        """The entries of baselines that a run over `paths` should have met, and has not."""
        about = self.about(paths)
        return [
            item for baseline in self._baselines.values() for item in baseline.gone(about.judges)
        ]

    def about(self, paths: Iterable[str]) -> About:
        return About(self._finder, self._checked, paths)

    def note(self, result: FileResult, settings: Settings) -> None:
        """Count a file as checked, with all of its findings."""
        if result.error is None:
            self._checked[os.path.abspath(result.path)] = settings

    def _changed(self) -> Changes:
        if self._changes is None:
            from mpslint.findings.changes import Changes

            self._changes = Changes(self._diff_base or "")
        return self._changes


class About:
    """Of which entries of a baseline a run could tell that their finding is gone."""

    def __init__(
        self, finder: SettingsFinder, checked: dict[str, Settings], paths: Iterable[str]
    ) -> None:
        self._finder = finder
        self._checked = checked
        self._paths = [os.path.abspath(path) for path in paths]

    def judges(self, entry: Entry, path: str) -> bool:
        """Whether the file was checked, or was somewhere that the run went and is no more, and the
        entry's rule was on."""
        path = os.path.abspath(path)
        settings = self._checked.get(path)
        if settings is None:
            if os.path.lexists(path) or not self._covers(path):
                return False
            settings = self._finder.for_file(path)
        from mpslint.rules.registry import all_rules

        rule = next((rule for rule in all_rules() if rule.code == entry.code), None)
        if rule is None:
            return True
        told = Severity[entry.severity.upper()] >= settings.severity
        told = told and settings.least_confidence(rule) is Confidence.INFERRED
        told = told and (not rule.partly or settings.asks_for(rule))
        return told and entry.code in settings.enabled(path)

    def _covers(self, path: str) -> bool:
        return any(
            path == top or path.startswith(top.rstrip(os.sep) + os.sep) for top in self._paths
        )


def place_of(finding: Finding, source: SourceFile) -> tuple[str, int]:
    """How a fix knows a finding that is hidden from it."""
    row = row_in_text(source, finding.cell, finding.row)
    return finding.code, source.starts[row - 1] + finding.column - 1
