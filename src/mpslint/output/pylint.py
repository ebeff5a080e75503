"""The lines that pylint prints (`--output-format=parseable`), which many programs read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.output import shown_path
from mpslint.printable import printable, printable_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.output import Style
    from mpslint.results import FileResult


def render(results: Sequence[FileResult], style: Style) -> str:
    return "".join(
        f"{printable_path(shown_path(result.path))}:{style.region(result.path, finding)[0]}: "
        f"[{finding.code}({finding.name})] {printable(finding.message)}\n"
        for result in results
        for finding in result.findings
    )
