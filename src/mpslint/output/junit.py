"""JUnit XML: one suite a file, one failed test a finding, for what shows test reports."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as Xml

from mpslint.basics.printable import printable
from mpslint.output import shown_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.findings.results import FileResult
    from mpslint.model import Finding
    from mpslint.output import Style

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(results: Sequence[FileResult], style: Style) -> str:
    shown = [result for result in results if result.findings or result.error]
    suites = [_suite(result, style) for result in shown] or [_clean()]
    root = Xml.Element("testsuites", {"name": "mpslint", **_sums(suites)})
    root.extend(suites)
    Xml.indent(root)
    body = Xml.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _suite(result: FileResult, style: Style) -> Xml.Element:
    path = _plain(shown_path(result.path))
    cases = [_case(path, finding, style, result.path) for finding in result.findings]
    if result.error:
        case = Xml.Element("testcase", {"name": "mpslint", "classname": _class(path)})
        Xml.SubElement(case, "error", {"message": _plain(result.error)})
        cases.append(case)
    return _with(cases, path, failures=len(result.findings), errors=int(bool(result.error)))


def _clean() -> Xml.Element:
    """Readers take a report without tests for a mistake."""
    case = Xml.Element("testcase", {"name": "No findings", "classname": "mpslint"})
    return _with([case], "mpslint", failures=0, errors=0)


def _with(cases: list[Xml.Element], name: str, *, failures: int, errors: int) -> Xml.Element:
    numbers = {"tests": len(cases), "skipped": 0, "failures": failures, "errors": errors}
    suite = Xml.Element("testsuite", {"name": name, **{k: str(v) for k, v in numbers.items()}})
    suite.extend(cases)
    return suite


def _sums(suites: list[Xml.Element]) -> dict[str, str]:
    names = ("tests", "skipped", "failures", "errors")
    return {name: str(sum(int(suite.get(name, 0)) for suite in suites)) for name in names}


def _case(path: str, finding: Finding, style: Style, file: str) -> Xml.Element:
    row, column, *_ = style.region(file, finding)
    case = Xml.Element(
        "testcase",
        {
            "name": f"{finding.code} {finding.name}",
            "classname": _class(path),
            "file": path,
            "line": str(row),
            "column": str(column),
        },
    )
    message = _plain(finding.message)
    failure = Xml.SubElement(case, "failure", {"message": message, "type": finding.severity.label})
    failure.text = f"{path}:{finding.place}: {finding.code} {message}"
    return case


def _class(path: str) -> str:
    return os.path.splitext(path)[0].replace("/", ".").replace("\\", ".")


def _plain(text: str) -> str:
    """What XML can hold of a text, as a log may show it."""
    return _NOT_XML.sub("\ufffd", printable(text))
