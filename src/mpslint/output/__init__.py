"""One module per format; `render` picks it. Formats know findings, not where they came from."""

# No `from __future__ import annotations` here: annotations that are strings make a NamedTuple
# compile each of them, which is a large part of what a run on one small file costs.

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mpslint.results import FileResult

FORMATS = ("full", "concise", "json", "github")


class Style(NamedTuple):
    """What a format may need beside the results."""

    color: bool = False
    unsafe: bool = False
    """Unsafe fixes count as on offer."""
    read: Callable[[str], str] | None = None
    """The text of a file, for formats that show source; the file may be gone by then."""


def render(name: str, results: Sequence["FileResult"], style: Style) -> str:
    """The results in format `name` (of `FORMATS`), ending with a newline unless empty."""
    from importlib import import_module

    text: str = import_module(f"mpslint.output.{_MODULES.get(name, name)}").render(results, style)
    return text


_MODULES = {"json": "json_format"}


def shown_path(path: str) -> str:
    """`path` relative to the current folder when it lies below it."""
    import os

    if not os.path.isabs(path):
        return path
    here = os.getcwd().rstrip(os.sep) + os.sep
    return path[len(here) :] if path.startswith(here) else path
