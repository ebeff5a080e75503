"""A GitLab code quality report: what a merge request shows beside its lines.

Fingerprints do not hold the row, so that a finding stays the same one when its line moves.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from mpslint.basics.printable import printable_json
from mpslint.findings.fingerprints import counted, digest
from mpslint.model import Severity
from mpslint.output.unread import unread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.findings.results import FileResult
    from mpslint.model import Finding
    from mpslint.output import Style
    from mpslint.output.unread import Unread

_SEVERITY = {Severity.BREAKS: "critical", Severity.IGNORES: "major", Severity.SLOW: "minor"}


def render(results: Sequence[FileResult], style: Style) -> str:
    rows = []
    for result in results:
        if not result.findings:
            continue
        path = _in_project(result.path)
        marks = counted(result.findings, style.source(result.path))
        for finding, (mark, number) in zip(result.findings, marks, strict=True):
            rows.append(_row(path, finding, digest(path, mark, str(number)), style, result.path))
    rows.extend(_of_unread(one) for one in unread(results))
    return printable_json(json.dumps(rows, ensure_ascii=False, indent=2)) + "\n"


def _of_unread(one: Unread) -> dict[str, Any]:
    path = _in_project(one.path)
    place = {"line": one.row, "column": one.column}
    return {
        "check_name": one.name,
        "description": one.reason,
        "severity": "blocker",
        "fingerprint": digest(path, one.name, one.reason),
        "location": {"path": path, "positions": {"begin": place, "end": place}},
    }


def _row(path: str, finding: Finding, mark: str, style: Style, file: str) -> dict[str, Any]:
    row, column, end_row, end_column = style.region(file, finding)
    return {
        "check_name": finding.code,
        "description": f"{finding.code}: {finding.message}",
        "severity": _SEVERITY[finding.severity],
        "fingerprint": mark,
        "location": {
            "path": path,
            "positions": {
                "begin": {"line": row, "column": column},
                "end": {"line": end_row, "column": end_column},
            },
        },
    }


def _in_project(path: str) -> str:
    """The path from the project's root, which GitLab names in its jobs."""
    root = os.environ.get("CI_PROJECT_DIR") or os.getcwd()
    return os.path.relpath(path, root).replace(os.sep, "/")
