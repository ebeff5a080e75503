"""Rows that were made by several commands, kept in a file until one table shows them all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from told import SOURCE, Row


def state() -> str:
    """Which mpslint was tried: a digest of its sources."""
    digest = hashlib.sha256()
    for path in sorted(SOURCE.rglob("*")):
        if path.suffix in (".py", ".json") and path.is_file():
            digest.update(str(path.relative_to(SOURCE)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def keep(path: Path, tried: str, row: Row) -> None:
    """Add a row as soon as it is known: what a later part does to the machine costs no earlier."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps([tried, *row]) + "\n")


def kept(path: Path) -> Iterator[tuple[str, Row]]:
    """The rows, each with the state of the sources that it tells of."""
    for line in path.read_text(encoding="utf-8").splitlines():
        tried, what, count, of, wrong, note, also, (seconds, slowest), cpu = json.loads(line)
        yield tried, Row(what, count, of, tuple(wrong), note, also, (seconds, slowest), cpu)
