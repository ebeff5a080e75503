"""One line per finding: `path:row:column: CODE [*] message`; more where a terminal is narrower."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.basics.printable import printable_path
from mpslint.output import shown_path
from mpslint.output.text import entry, paint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.findings.results import FileResult
    from mpslint.output import Style

_INDENT = 4


def render(results: Sequence[FileResult], style: Style) -> str:
    lines = list[str]()
    for result in results:
        path = printable_path(shown_path(result.path))
        bold = paint(path, "bold", style)
        for finding in result.findings:
            place = f":{finding.place}:"
            lines += entry(path + place, bold + place, finding, style, _INDENT)
    return "".join(f"{line}\n" for line in lines)
