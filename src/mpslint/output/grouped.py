"""Findings below the name of their file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.basics.printable import printable_path
from mpslint.output import shown_path
from mpslint.output.cells import wrapped
from mpslint.output.text import columns_left, entry, paint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.findings.results import FileResult
    from mpslint.output import Style


def render(results: Sequence[FileResult], style: Style) -> str:
    blocks = []
    for result in results:
        if not result.findings:
            continue
        width = max(len(finding.place) for finding in result.findings)
        path = f"{printable_path(shown_path(result.path))}:"
        *above, last = wrapped(path, columns_left(style, 0))
        lines = [paint(part, "bold", style) for part in (*above, last[:-1])]
        lines[-1] += ":"
        for finding in result.findings:
            place = f"  {finding.place:<{width}} "
            lines += entry(place, place, finding, style, len(place) + 1)
        blocks.append("".join(f"{line}\n" for line in (*lines, "")))
    return "".join(blocks)
