"""SARIF 2.1.0, which code scanning services and editors read.

Paths are relative to the current folder, columns count characters, and fingerprints do not hold
the row, so that a finding stays the same one when its line moves.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from mpslint import __version__
from mpslint.basics.printable import printable_json
from mpslint.findings.fingerprints import counted
from mpslint.model import Applicability, Severity
from mpslint.output import shown_path
from mpslint.sources.opening import is_notebook

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mpslint.findings.results import FileResult
    from mpslint.model import Finding, Fix
    from mpslint.output import Style
    from mpslint.sources.source import SourceFile

Json = dict[str, Any]
SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_BASE = "%SRCROOT%"
_LEVEL = {Severity.BREAKS: "error", Severity.IGNORES: "warning", Severity.SLOW: "note"}


def render(results: Sequence[FileResult], style: Style) -> str:
    from mpslint.rules.registry import docs_site

    codes = sorted({finding.code for result in results for finding in result.findings})
    index = {code: number for number, code in enumerate(codes)}
    errors = [result for result in results if result.error]
    run = {
        "tool": {
            "driver": {
                "name": "mpslint",
                "version": __version__,
                **_address("informationUri", docs_site()),
                "rules": _rules(codes),
            }
        },
        "invocations": [
            {
                "executionSuccessful": not errors,
                "toolExecutionNotifications": [_notification(result) for result in errors],
            }
        ],
        "originalUriBaseIds": {_BASE: {"uri": Path.cwd().as_uri().rstrip("/") + "/"}},
        "columnKind": "unicodeCodePoints",
        "results": [item for result in results for item in _results(result, index, style)],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return printable_json(json.dumps(log, ensure_ascii=False, indent=2)) + "\n"


def _rules(codes: Iterable[str]) -> list[Json]:
    from mpslint.rules.registry import all_rules

    known = {rule.code: rule for rule in all_rules()}
    return [
        {
            "id": rule.code,
            "name": rule.name,
            "shortDescription": {"text": rule.summary},
            "help": {"text": rule.docs, "markdown": rule.docs},
            **_address("helpUri", rule.published),
            "defaultConfiguration": {"level": _LEVEL[rule.severity]},
            "properties": {"tags": ["pytorch", rule.severity.label]},
        }
        for code in codes
        if (rule := known.get(code)) is not None
    ]


def _address(key: str, address: str | None) -> Json:
    """Only what is an address will do."""
    return {} if address is None else {key: address}


def _notification(result: FileResult) -> Json:
    return {
        "level": "error",
        "message": {"text": result.error},
        "locations": [{"physicalLocation": {"artifactLocation": _artifact(result.path)}}],
    }


def _results(result: FileResult, index: dict[str, int], style: Style) -> list[Json]:
    if not result.findings:
        return []
    source = style.source(result.path)
    artifact = _artifact(result.path)
    marks = counted(result.findings, source)
    return [
        _result(finding, f"{mark}:{number}", artifact, index, style, result.path, source)
        for finding, (mark, number) in zip(result.findings, marks, strict=True)
    ]


def _result(
    finding: Finding,
    mark: str,
    artifact: Json,
    index: dict[str, int],
    style: Style,
    path: str,
    source: SourceFile | None,
) -> Json:
    found: Json = {
        "ruleId": finding.code,
        "ruleIndex": index[finding.code],
        "level": _LEVEL[finding.severity],
        "message": {"text": finding.message},
        "locations": [
            {"physicalLocation": _place(artifact, _region(*style.region(path, finding)))}
        ],
        # The name that code scanning asks for; others compare what they find.
        "partialFingerprints": {"primaryLocationLineHash": mark},
        "properties": {
            "severity": finding.severity.label,
            "confidence": finding.confidence.label,
        },
    }
    if finding.cell is not None:
        found["properties"]["cell"] = finding.cell
    if finding.labels:
        found["relatedLocations"] = [
            {
                "id": number,
                "message": {"text": label.message},
                "physicalLocation": _place(
                    artifact,
                    {
                        "startLine": style.row(path, label.cell, label.row),
                        "startColumn": label.column,
                    },
                ),
            }
            for number, label in enumerate(finding.labels)
        ]
    fix = finding.fix
    # The cells of a notebook are strings in JSON: positions in them are none of the file's.
    if fix is not None and source is not None and not is_notebook(path):
        found["properties"]["applicability"] = fix.applicability.label
        if fix.applicability > Applicability.DISPLAY:
            found["fixes"] = [_fix(fix, artifact, source)]
    return found


def _fix(fix: Fix, artifact: Json, source: SourceFile) -> Json:
    return {
        "description": {"text": fix.message},
        "artifactChanges": [
            {
                "artifactLocation": artifact,
                "replacements": [
                    {
                        "deletedRegion": _region(
                            *source.position(edit.start), *source.position(edit.end)
                        ),
                        "insertedContent": {"text": edit.text},
                    }
                    for edit in fix.edits
                ],
            }
        ],
    }


def _place(artifact: Json, region: Json) -> Json:
    return {"artifactLocation": artifact, "region": region}


def _region(row: int, column: int, end_row: int, end_column: int) -> Json:
    return {"startLine": row, "startColumn": column, "endLine": end_row, "endColumn": end_column}


def _artifact(path: str) -> Json:
    shown = os.path.normpath(shown_path(path))
    if os.path.isabs(shown) or shown.startswith(".."):
        return {"uri": Path(os.path.abspath(path)).as_uri()}
    return {"uri": quote(os.fsencode(shown.replace(os.sep, "/"))), "uriBaseId": _BASE}
