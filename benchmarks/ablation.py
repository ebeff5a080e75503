"""What each row of `priors.json` is worth: it is switched off, and findings are compared.

    python benchmarks/ablation.py FOLDER [--rows packages] [--rows helpers/has_cuda] [--jobs 2]

FOLDER holds one checkout a folder. A row says what is only likely, by a name, a package or a
decorator; one that changes nothing on many repositories does not pay for itself. For each row the
table says on how many repositories findings change without it, how many come (the row holds them
back) and how many go (the row makes them).

A file is looked at again only where a row can matter: where what the row matches stands in it or
in a file of its project that the first look consulted. Nothing of the installed package is changed:
the row is taken out of the loaded table, in this process alone.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from mpslint.discovery import targets
from mpslint.errors import BadSource
from mpslint.facts import data, priors
from mpslint.linter import lint
from mpslint.neighbours import Neighbours
from mpslint.opening import located, open_source
from mpslint.reading import read_bytes
from mpslint.screening import speaks_of_torch
from mpslint.settings import Settings
from mpslint.settings_file import SettingsFinder

FILE = "priors.json"
_WORD = re.compile(rb"[A-Za-z_]\w*")
_PLAIN = re.compile(r"[\w.]+")

Found = Counter[tuple[object, ...]]


class Row(NamedTuple):
    section: str
    match: str

    def __str__(self) -> str:
        return f"{self.section}/{self.match}"


class File(NamedTuple):
    """What the first look at a file found, and which files it rests on."""

    path: str
    data: bytes
    settings: Settings
    found: Found
    rests_on: tuple[str, ...]


class Effect(NamedTuple):
    """Findings of one repository that come and go without a row."""

    come: int
    go: int


def rows(wanted: list[str]) -> list[Row]:
    """The rows, or those of the sections, or single ones, that are asked for."""
    tables = data._file(FILE)
    every = [Row(section, match) for section, table in tables.items() for match in table]
    chosen = [row for row in every if not wanted or row.section in wanted or str(row) in wanted]
    missing = set(wanted) - {row.section for row in every} - {str(row) for row in every}
    if missing:
        sys.exit(f"{FILE} has no {', '.join(sorted(missing))}; it has {', '.join(tables)}")
    return chosen


def forget() -> None:
    """Empties what was made of the rows."""
    for name in dir(priors):
        clear = getattr(getattr(priors, name), "cache_clear", None)
        if clear is not None:
            clear()


@contextmanager
def without(row: Row) -> Iterator[None]:
    """The row is not there."""
    table: dict[str, Any] = data._file(FILE)[row.section]
    kept = dict(table)
    del table[row.match]
    forget()
    try:
        yield
    finally:
        table.clear()
        table.update(kept)
        forget()


def looks_for(row: Row) -> Callable[[bytes], bool]:
    """Whether the row can match anything in a file of these bytes."""
    if _PLAIN.fullmatch(row.match):
        parts = [part.encode() for part in row.match.split(".")]
        return lambda text: all(part in text for part in parts)
    pattern = re.compile(row.match.encode(), re.I)
    return lambda text: any(pattern.search(word) for word in set(_WORD.findall(text)))


def look(path: str, text: bytes, settings: Settings, neighbours: Neighbours) -> Found:
    try:
        source = open_source(path, text)
        found = located(source, lint(source, settings, elsewhere=neighbours))
    except (BadSource, RecursionError):
        return Counter()
    return Counter((f.cell, f.row, f.column, f.code, f.severity, f.message) for f in found)


def first_look(folder: Path) -> list[File]:
    """All files of a repository that speak of torch."""
    around: dict[Settings, Neighbours] = {}
    files = []
    for target in targets([str(folder)], SettingsFinder(isolated=True), lambda line: None):
        try:
            text = read_bytes(target.path)
        except BadSource:
            continue
        if not speaks_of_torch(text):
            continue
        neighbours = around.setdefault(target.settings, Neighbours(target.settings))
        neighbours.consulted()
        found = look(target.path, text, target.settings, neighbours)
        rests_on = tuple(consulted.path for consulted in neighbours.consulted())
        files.append(File(target.path, text, target.settings, found, rests_on))
    return files


def effects(folder: Path, wanted: list[str]) -> dict[Row, Effect]:
    """What changes in a repository without each row."""
    files = first_look(folder)
    texts = {file.path: file.data for file in files}
    for path in {path for file in files for path in file.rests_on} - texts.keys():
        try:
            texts[path] = read_bytes(path)
        except BadSource:  # Looked for, and not there.
            texts[path] = b""
    found: dict[Row, Effect] = {}
    for row in rows(wanted):
        matches = looks_for(row)
        concerned = {path for path, text in texts.items() if matches(text)}
        again = [
            file
            for file in files
            if file.path in concerned or not concerned.isdisjoint(file.rests_on)
        ]
        if not again:
            continue
        come = go = 0
        with without(row):
            around: dict[Settings, Neighbours] = {}
            for file in again:
                neighbours = around.setdefault(file.settings, Neighbours(file.settings))
                now = look(file.path, file.data, file.settings, neighbours)
                come += (now - file.found).total()
                go += (file.found - now).total()
        if come or go:
            found[row] = Effect(come, go)
    return found


def table(every: list[Row], by_repository: dict[str, dict[Row, Effect]]) -> str:
    """Markdown: a row for each row."""
    lines = [
        f"{len(by_repository)} repositories",
        "",
        "| section | row | repositories | come without it | go without it |",
        "| --- | --- | --: | --: | --: |",
    ]
    for row in every:
        hit = [found[row] for found in by_repository.values() if row in found]
        come, go = sum(one.come for one in hit), sum(one.go for one in hit)
        match = row.match.replace("|", "\\|")
        lines.append(f"| {row.section} | `{match}` | {len(hit)} | {come} | {go} |")
    idle = sum(not any(row in found for found in by_repository.values()) for row in every)
    lines += ["", f"{idle} of {len(every)} rows change nothing."]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="holds one checkout a folder")
    parser.add_argument("--rows", action="append", default=[], help="SECTION or SECTION/ROW")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    every = rows(arguments.rows)
    folders = sorted(path for path in arguments.folder.resolve().iterdir() if path.is_dir())
    by_repository: dict[str, dict[Row, Effect]] = {}
    with ProcessPoolExecutor(arguments.jobs) as pool:
        running = {folder.name: pool.submit(effects, folder, arguments.rows) for folder in folders}
        for at, (name, future) in enumerate(running.items(), 1):
            by_repository[name] = future.result()
            print(f"{at} of {len(folders)}: {name}", file=sys.stderr)
    print(table(every, by_repository))


if __name__ == "__main__":
    main()
