"""A JSON array of objects with ruff's field names, and `severity`.

Rows and columns are 1-based, columns in characters; an edit's `content` replaces the text
between its two locations. `no_fix` says why there is none, for rules that have fixes.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from mpslint.basics.printable import printable_json
from mpslint.sources.opening import position

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.findings.results import FileResult
    from mpslint.model import Finding, Fix
    from mpslint.output import Style
    from mpslint.sources.source import SourceFile


def render(results: Sequence[FileResult], style: Style) -> str:
    rows = []
    for result in results:
        for finding in result.findings:
            fix = finding.fix
            source = style.source(result.path) if fix is not None else None
            rows.append(_row(result.path, finding, fix, source))
    if not rows:
        return "[]\n"
    text = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in rows)
    return f"[\n{printable_json(text)}\n]\n"


def _row(path: str, finding: Finding, fix: Fix | None, source: SourceFile | None) -> dict[str, Any]:
    from mpslint.rules.registry import rule_url

    return {
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        "filename": path if path == "-" else os.path.abspath(path),
        "cell": finding.cell,
        "location": _place(finding.row, finding.column),
        "end_location": _place(finding.end_row, finding.end_column),
        "severity": finding.severity.label,
        "confidence": finding.confidence.label,
        "fix": None if fix is None or source is None else _fix(fix, source),
        "no_fix": (finding.unfixed or None) if fix is None else None,
        "related": [
            {"location": _place(label.row, label.column), "message": label.message}
            | ({} if label.cell is None else {"cell": label.cell})
            for label in finding.labels
        ],
        "url": rule_url(finding.name),
    }


def _fix(fix: Fix, source: SourceFile) -> dict[str, Any]:
    return {
        "applicability": fix.applicability.label,
        "message": fix.message,
        "edits": [
            {
                "content": edit.text,
                "location": _place(*position(source, edit.start)[1:]),
                "end_location": _place(*position(source, edit.end)[1:]),
            }
            for edit in fix.edits
        ],
    }


def _place(row: int, column: int) -> dict[str, int]:
    return {"row": row, "column": column}
