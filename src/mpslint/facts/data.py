"""Reading the data files that lie beside this module, each once and only when it is needed."""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def read_file(name: str) -> dict[str, dict[str, Any]]:
    """A data file, as it stands there."""
    import json
    import os

    path = os.path.join(os.path.dirname(__file__), name)
    with open(path, encoding="utf-8") as stream:
        data: dict[str, dict[str, Any]] = json.load(stream)
    return data


def read_section(file: str, section: str) -> dict[str, Any]:
    """One section of a data file. Raises `KeyError` for a section that the file lacks."""
    return read_file(file)[section]
