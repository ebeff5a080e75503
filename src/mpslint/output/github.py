"""Workflow commands that show findings beside the lines of a pull request.

What breaks is an error, what ignores the GPU a warning, what is slow a notice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.basics.printable import printable
from mpslint.model import Severity
from mpslint.output import shown_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.findings.results import FileResult
    from mpslint.model import Finding
    from mpslint.output import Style


_COMMAND = {Severity.BREAKS: "error", Severity.IGNORES: "warning", Severity.SLOW: "notice"}


def render(results: Sequence[FileResult], style: Style) -> str:
    return "".join(
        _command(shown_path(result.path), finding, style.region(result.path, finding))
        for result in results
        for finding in result.findings
    )


def _command(path: str, finding: Finding, place: tuple[int, int, int, int]) -> str:
    row, column, end_row, end_column = place
    fields = {
        "title": f"mpslint ({finding.code})",
        "file": path,
        "line": row,
        "col": column,
        "endLine": end_row,
        "endColumn": end_column,
    }
    shown = ",".join(f"{key}={_property(str(value))}" for key, value in fields.items())
    text = f"{path}:{finding.place}: {finding.code} {finding.message}"
    return f"::{_COMMAND[finding.severity]} {shown}::{printable(_data(text))}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return printable(_data(text)).replace(":", "%3A").replace(",", "%2C")
