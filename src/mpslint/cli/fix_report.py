"""`mpslint fix --report FILE`: what changed, what is left and why, for other programs.

Rows of `fixes` are those of the file as it was, rows of `left` those of the file as it is now.
`reason` is `no-fix`, `suggestion`, `unsafe`, `suppressed` or `not-applied` (verification kept the
file).
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from mpslint.errors import MpslintError, reason_of
from mpslint.model import Applicability

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mpslint.cli.verification import Outcome
    from mpslint.findings.results import FileResult
    from mpslint.fixing.fixing import Planned
    from mpslint.model import Finding

SCHEMA = 1


class CannotReport(MpslintError):
    """The report file could not be written."""


def write_report(
    path: str,
    results: Sequence[FileResult],
    done: Mapping[str, Planned],
    planned: Mapping[str, Planned],
    outcome: Outcome | None,
    unsafe: bool,
    suppressed: Mapping[str, Sequence[Finding]],
) -> None:
    """Write the report of one run. Raises `CannotReport`."""
    document = {
        "schema": SCHEMA,
        "verification": None
        if outcome is None
        else {"verdict": outcome.verdict, "reason": outcome.reason},
        "files": [
            _file(result, planned.get(result.path), result.path in done, unsafe, silent)
            for result in results
            for silent in [suppressed.get(result.path, ())]
            if result.findings or result.error or silent or result.path in planned
        ],
    }
    try:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=2)
            file.write("\n")
    except OSError as error:
        raise CannotReport(f"{path}: the report cannot be written: {reason_of(error)}") from None


def _file(
    result: FileResult,
    planned: Planned | None,
    written: bool,
    unsafe: bool,
    silent: Sequence[Finding],
) -> dict[str, Any]:
    applied = planned.result.applied if planned is not None else ()
    return {
        "path": os.path.abspath(result.path),
        "status": _status(result, planned, written),
        "error": result.error,
        "fixes": [
            {
                "code": fix.code,
                "name": fix.name,
                "message": fix.message,
                "applicability": fix.applicability.label,
                "cell": fix.cell,
                "row": fix.row,
            }
            for fix in applied
        ],
        "left": [
            *(_left(finding, *_why(finding, unsafe)) for finding in result.findings),
            *(_left(finding, "suppressed", "a comment silences it") for finding in silent),
        ],
    }


def _left(finding: Finding, reason: str, why: str) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.label,
        "cell": finding.cell,
        "row": finding.row,
        "column": finding.column,
        "message": finding.message,
        "reason": reason,
        "needs_human": reason in ("no-fix", "suggestion"),
        "why": why,
    }


def _status(result: FileResult, planned: Planned | None, written: bool) -> str:
    if written:
        return "created" if planned is not None and planned.new else "changed"
    if result.error is not None:
        return "error"
    return "kept" if planned is not None else "unchanged"


def _why(finding: Finding, unsafe: bool) -> tuple[str, str]:
    """Why a finding is still there: a word for programs and one for people."""
    level = finding.applicability
    if level is None:
        return "no-fix", finding.unfixed or "needs a human"
    if level is Applicability.DISPLAY:
        return "suggestion", "a suggestion: needs a human"
    if level is Applicability.UNSAFE and not unsafe:
        return "unsafe", "unsafe: --unsafe-fixes applies it"
    return "not-applied", "not applied"
