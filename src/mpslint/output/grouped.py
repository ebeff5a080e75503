"""Findings below the name of their file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.output import shown_path
from mpslint.output.text import head, paint
from mpslint.printable import printable_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.output import Style
    from mpslint.results import FileResult


def render(results: Sequence[FileResult], style: Style) -> str:
    blocks = []
    for result in results:
        if not result.findings:
            continue
        width = max(len(finding.place) for finding in result.findings)
        lines = [f"  {f.place:<{width}}  {head(f, style)}\n" for f in result.findings]
        blocks.append(
            f"{paint(printable_path(shown_path(result.path)), 'bold', style)}:\n{''.join(lines)}\n"
        )
    return "".join(blocks)
