"""mpslint as a flake8 plugin: the same findings as `mpslint check`, at the same places.

It reads `[tool.mpslint]`, and reports the rules that are on there. Rules that are off by
default are switched on by flake8's own options: `--extend-select MPS606`, or any prefix
longer than the family's name (`--select MPS` alone is the default set). Nothing is imported
for a file that does not speak of torch, and nothing is ever raised: a fault of mpslint's own
is one MPS999 finding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from mpslint import __version__
from mpslint.sources.screening import speaks_of_torch

if TYPE_CHECKING:
    import argparse
    import ast
    from collections.abc import Iterator

    from mpslint.checking.checking import Around
    from mpslint.findings.baseline import Baseline
    from mpslint.model import Finding
    from mpslint.settings.file import SettingsFinder
    from mpslint.settings.settings import Settings
    from mpslint.sources.source import SourceFile

Violation = tuple[int, int, str, type]
_FAMILY = "MPS"


class Plugin:
    """One instance per file, made and run by flake8."""

    name = "mpslint"
    version = __version__
    _finder: SettingsFinder | None = None
    _around: ClassVar[Around] = {}
    _baselines: ClassVar[dict[str, Baseline]] = {}
    _selected: tuple[str, ...] = ()
    _noqa = True
    _stdin_name = "stdin"

    def __init__(self, tree: ast.Module, lines: list[str], filename: str) -> None:
        self._tree = tree
        self._lines = lines
        self._path = self._stdin_name if filename in ("-", "stdin") else filename

    @classmethod
    def parse_options(cls, options: argparse.Namespace) -> None:
        """Called by flake8 once, before any file."""
        asked = [*(options.select or ()), *(options.extend_select or ())]
        cls._selected = tuple(
            code for code in asked if code.startswith(_FAMILY) and len(code) > len(_FAMILY)
        )
        cls._noqa = not options.disable_noqa
        cls._stdin_name = options.stdin_display_name
        cls._finder = None
        cls._around = {}
        cls._baselines = {}

    def run(self) -> Iterator[Violation]:
        if not speaks_of_torch("".join(self._lines).encode("utf-8", "replace")):
            return
        try:
            found = list(self._findings())
        except Exception as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            found = [(1, 0, f"MPS999 internal error: {ascii(reason[:200])[1:-1]}", type(self))]
        yield from found

    def _findings(self) -> Iterator[Violation]:
        from mpslint.basics.printable import printable
        from mpslint.checking.checking import neighbours_of
        from mpslint.checking.linter import lint
        from mpslint.errors import MpslintError
        from mpslint.sources.source import SourceFile

        try:
            settings = self._settings()
            source = SourceFile.from_text("".join(self._lines), self._path)
            if 0 < settings.max_file_size < len(source.data):
                return
            elsewhere = neighbours_of(self._around, settings)
            findings = lint(source, settings, self._tree, noqa=self._noqa, elsewhere=elsewhere)
            if findings and settings.baseline is not None:
                findings = self._unknown(findings, settings.baseline, source)
        except MpslintError as error:
            yield 1, 0, printable(f"MPS999 {error}"), type(self)
            return
        for finding in findings:
            text = printable(f"{finding.code} {finding.message}")
            yield finding.row, finding.column - 1, text, type(self)

    def _unknown(self, findings: list[Finding], baseline: str, source: SourceFile) -> list[Finding]:
        """The findings that the baseline does not know."""
        if baseline not in self._baselines:
            from mpslint.findings.baseline import read_baseline

            self._baselines[baseline] = read_baseline(baseline)
        return self._baselines[baseline].unknown(self._path, findings, source)

    def _settings(self) -> Settings:
        """What the settings files say, and the rules that flake8's options switch on."""
        from mpslint.settings.file import SettingsFinder

        cls = type(self)
        if cls._finder is None:
            cls._finder = SettingsFinder()
        settings = cls._finder.for_file(self._path)
        extra = tuple(code for code in self._selected if _is_rule(code))
        return settings._replace(extend_select=(*settings.extend_select, *extra))


def _is_rule(selector: str) -> bool:
    from mpslint.errors import BadSettings
    from mpslint.settings.selectors import resolve

    try:
        resolve(selector)
    except BadSettings:
        return False
    return True
