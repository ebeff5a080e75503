"""Workflow commands that show findings beside the lines of a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.output import shown_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.model import Finding
    from mpslint.output import Style
    from mpslint.results import FileResult


def render(results: Sequence[FileResult], style: Style) -> str:
    return "".join(
        _command(shown_path(result.path), finding)
        for result in results
        for finding in result.findings
    )


def _command(path: str, finding: Finding) -> str:
    fields = {
        "title": f"mpslint ({finding.code})",
        "file": path,
        "line": finding.row,
        "col": finding.column,
        "endLine": finding.end_row,
        "endColumn": finding.end_column,
    }
    shown = ",".join(f"{key}={_property(str(value))}" for key, value in fields.items())
    text = f"{path}:{finding.place}: {finding.code} {finding.message}"
    return f"::error {shown}::{_data(text)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
