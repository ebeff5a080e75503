"""A small project as a report sees it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mpslint.folders.discovery import targets
from mpslint.report.model import Survey
from mpslint.report.survey import survey
from mpslint.running.runner import check_all
from mpslint.settings.file import SettingsFinder

Surveyed = Callable[..., Survey]


@pytest.fixture
def surveyed(project: Path) -> Surveyed:
    """The survey of a project with these files, by path."""

    def make(files: dict[str, str], **options: object) -> Survey:
        for name, text in files.items():
            path = project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        found = list(targets(["."], SettingsFinder(options, isolated=True), lambda _line: None))
        results = check_all(found, cache=False, with_fixes=True)
        return survey(["."], found, results)

    return make
