"""What the baselines of the settings know, so that the editor shows what `check` does."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mpslint.errors import BadSettings
from mpslint.findings.baseline import BadBaseline, read_baseline
from mpslint.sources.reading import UNSURE, sign_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.findings.baseline import Baseline
    from mpslint.model import Finding
    from mpslint.settings.settings import Settings
    from mpslint.sources.source import SourceFile


class Baselines:
    """Each baseline is read once, and again when its file has changed."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, int], Baseline]] = {}

    def forget(self) -> None:
        """Files may have come or gone: which of them a baseline misses is looked at anew."""
        self._known.clear()

    def unknown(
        self, settings: Settings, path: str, findings: Sequence[Finding], source: SourceFile
    ) -> Sequence[Finding]:
        """The findings that the settings' baseline does not know. Raises `BadSettings`."""
        if settings.baseline is None:
            return findings
        return self._read(settings.baseline).unknown(path, findings, source)

    @staticmethod
    def rests_on(settings: Settings) -> dict[str, tuple[int, int]]:
        """The file that an answer rests on, as it is."""
        if settings.baseline is None:
            return {}
        path = os.path.abspath(settings.baseline)
        return {path: sign_of(path)}

    def _read(self, path: str) -> Baseline:
        sign = sign_of(path)
        known = self._known.get(path)
        if known is None or known[0] != sign or sign == UNSURE:
            try:
                known = self._known[path] = (sign, read_baseline(path))
            except BadBaseline as error:
                raise BadSettings(str(error)) from None
        return known[1].renewed()
