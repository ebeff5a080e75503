"""Workflow commands that show findings beside the lines of a pull request.

What breaks is an error, what ignores the GPU a warning, what is slow a notice; a file that could
not be checked is an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.basics.printable import printable
from mpslint.model import Severity
from mpslint.output import shown_path
from mpslint.output.unread import unread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.findings.results import FileResult
    from mpslint.model import Finding
    from mpslint.output import Style
    from mpslint.output.unread import Unread


_COMMAND = {Severity.BREAKS: "error", Severity.IGNORES: "warning", Severity.SLOW: "notice"}


def render(results: Sequence[FileResult], style: Style) -> str:
    found = [
        _command(shown_path(result.path), finding, style.region(result.path, finding))
        for result in results
        for finding in result.findings
    ]
    return "".join([*found, *map(_of_unread, unread(results))])


def _of_unread(one: Unread) -> str:
    path = shown_path(one.path)
    place = f"file={_property(path)},line={one.row},col={one.column}"
    text = f"{path}:{one.row}:{one.column}: {one.reason}"
    return f"::error title=mpslint ({one.name}),{place}::{printable(_data(text))}\n"


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
