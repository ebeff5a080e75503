"""The report as JSON, for other programs. `schema` goes up when a field changes its meaning."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mpslint.basics.printable import printable_json
from mpslint.report.areas import areas
from mpslint.report.model import REMEDIES, SEVERITIES
from mpslint.report.summary import answer, hazards

if TYPE_CHECKING:
    from mpslint.report.areas import Area
    from mpslint.report.model import Cause, Issue, Place, Survey

SCHEMA = 1


def render(survey: Survey) -> str:
    return printable_json(json.dumps(_document(survey), indent=2, ensure_ascii=False)) + "\n"


def _document(survey: Survey) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "title": survey.title,
        "paths": list(survey.paths),
        "version": survey.version,
        "date": survey.made,
        "answer": answer(survey),
        "files": {"read": len(survey.files), "with_torch": survey.torch_files},
        "counts": {
            "findings": len(survey.issues),
            "severity": {name: survey.number(severity=name) for name in SEVERITIES},
            "remedy": {name: survey.number(remedy=name) for name in REMEDIES},
            "emerging": survey.emerging,
        },
        "areas": _area(areas(survey)),
        "causes": [_cause(cause) for cause in survey.causes],
        "operators": [
            {
                "name": op.name,
                "backward": op.backward,
                "since": op.since,
                "places": [_place(place) for place in op.places],
            }
            for op in survey.ops
        ],
        "hazards": {
            hazard.name.lower(): {
                rule.code: [_place(place) for place in places] for rule, places in hazard.rows
            }
            for hazard in hazards(survey)
        },
        "verdicts": [report.to_dict() for report in survey.verdicts],
        "traces": [trace.to_dict() for trace in survey.traces],
        "findings": [_issue(issue) for issue in survey.issues],
        "unread": list(survey.unread),
    }


def _area(area: Area) -> dict[str, Any]:
    return {
        "path": area.path,
        "files_with_torch": area.files,
        **area.counts,
        "children": [_area(child) for child in area.children],
    }


def _cause(cause: Cause) -> dict[str, Any]:
    return {
        "kind": cause.kind,
        "title": cause.title,
        "place": _place(cause.place),
        "findings": list(cause.issues),
        "uses": [_place(place) for place in cause.uses],
        "uses_of_others_too": cause.shared,
    }


def _place(place: Place) -> dict[str, Any]:
    return {"path": place.path, "row": place.row, "cell": place.cell, "text": place.text}


def _issue(issue: Issue) -> dict[str, Any]:
    finding = issue.finding
    return {
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        "severity": issue.severity,
        "confidence": finding.confidence.label,
        "provided": finding.provided or None,
        "place": {**_place(issue.place), "column": finding.column},
        "remedy": issue.remedy,
        "fix": issue.fix or None,
    }
