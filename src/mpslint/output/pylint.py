"""The lines that pylint prints (`--output-format=parseable`), which many programs read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.basics.printable import printable, printable_path
from mpslint.output import shown_path
from mpslint.output.unread import unread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.findings.results import FileResult
    from mpslint.output import Style


def render(results: Sequence[FileResult], style: Style) -> str:
    found = [
        f"{printable_path(shown_path(result.path))}:{style.region(result.path, finding)[0]}: "
        f"[{finding.code}({finding.name})] {printable(finding.message)}\n"
        for result in results
        for finding in result.findings
    ]
    failed = [
        f"{printable_path(shown_path(one.path))}:{one.row}: [{one.name}] {printable(one.reason)}\n"
        for one in unread(results)
    ]
    return "".join([*found, *failed])
