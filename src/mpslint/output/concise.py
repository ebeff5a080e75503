"""One line per finding: `path:row:column: CODE [*] message`."""

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
    lines = []
    for result in results:
        path = paint(printable_path(shown_path(result.path)), "bold", style)
        lines += [f"{path}:{f.place}: {head(f, style)}\n" for f in result.findings]
    return "".join(lines)
