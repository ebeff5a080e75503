"""What each row of `priors.json` is worth: it is switched off, and findings are compared.

    python benchmarks/ablation.py FOLDER [--rows packages] [--rows helpers/has_cuda] [--jobs 2]
    python benchmarks/ablation.py FOLDER --fixtures fixtures --write --date 2026-11-22

FOLDER holds one checkout a folder. A row says what is only likely, by a name, a package or a
decorator; one that changes nothing on many repositories does not pay for itself. For each row the
table says on how many repositories findings change without it, how many come (the row holds them
back), how many go (the row makes them), and how many have another fix. All rules are on.

A file is looked at again only without the rows that decided something at the first look at it, and
at the files of its project that the look consulted: where each answer would have been the same
without a row, all that follows is. Nothing of the installed package is changed: the row is taken
out of the loaded table, in this process alone. `--write` puts the numbers into `priors.json`, with
what changes in the project's own fixtures: programs that somebody has judged.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from mpslint.checking.linter import lint
from mpslint.errors import BadSource
from mpslint.facts import data, priors
from mpslint.facts.priors import Prior
from mpslint.folders.discovery import targets
from mpslint.project.neighbours import Neighbours
from mpslint.settings.file import SettingsFinder
from mpslint.settings.settings import Settings
from mpslint.sources.opening import located, open_source
from mpslint.sources.reading import read_bytes
from mpslint.sources.screening import speaks_of_torch

Found = dict[tuple[object, ...], list[object]]
"""The fixes of findings at a place with a message."""


class File(NamedTuple):
    """What the first look at a file found, and which rows decided something."""

    path: str
    data: bytes
    settings: Settings
    found: Found
    heard: frozenset[Prior]


class Effect(NamedTuple):
    """Findings of one repository that come, go and are mended otherwise without a row."""

    come: int
    go: int
    fixes: int = 0


def rows(wanted: list[str]) -> list[Prior]:
    """The rows, or those of the sections, or single ones, that are asked for."""
    every = priors.rows()
    sections = dict.fromkeys(row.section for row in every)
    chosen = [row for row in every if not wanted or row.section in wanted or str(row) in wanted]
    missing = set(wanted) - set(sections) - {str(row) for row in every}
    if missing:
        there = ", ".join(sections)
        sys.exit(f"{priors.FILE} has no {', '.join(sorted(missing))}; it has {there}")
    return chosen


def look(path: str, text: bytes, settings: Settings) -> Found:
    found: Found = {}
    try:
        source = open_source(path, text)
        raw = list(lint(source, settings, elsewhere=Neighbours(settings)))
        for finding, at in zip(raw, located(source, raw), strict=True):
            place = (at.cell, at.row, at.column, at.code, at.severity, at.message)
            found.setdefault(place, []).append(finding.fix)
    except (BadSource, RecursionError):
        return {}
    except Exception as error:  # A mistake of mpslint's own is a finding as well.
        return {(type(error).__name__,): [None]}
    return found


def difference(before: Found, now: Found) -> Effect:
    were, are = (Counter({at: len(fixes) for at, fixes in one.items()}) for one in (before, now))
    both = before.keys() & now.keys()
    return Effect(
        (are - were).total(), (were - are).total(), sum(before[at] != now[at] for at in both)
    )


def first_look(folder: Path) -> list[File]:
    """All files of a repository that speak of torch.

    What is learnt of a neighbour is learnt anew for each file, so that what decided it is heard.
    """
    files = []
    for target in targets([str(folder)], SettingsFinder(isolated=True), lambda line: None):
        try:
            text = read_bytes(target.path)
        except BadSource:
            continue
        if not speaks_of_torch(text):
            continue
        settings = target.settings._replace(select=("ALL",))
        with priors.heard() as heard:
            found = look(target.path, text, settings)
        files.append(File(target.path, text, settings, found, frozenset(heard)))
    return files


def effects(folder: Path, wanted: list[str]) -> dict[Prior, Effect]:
    """What changes in a repository without each row."""
    files = first_look(folder)
    found: dict[Prior, Effect] = {}
    for row in rows(wanted):
        again = [file for file in files if row in file.heard]
        if not again:
            continue
        sum_of = Effect(0, 0)
        with priors.without(row):
            for file in again:
                one = difference(file.found, look(file.path, file.data, file.settings))
                sum_of = Effect(*(a + b for a, b in zip(sum_of, one, strict=True)))
        if any(sum_of):
            found[row] = sum_of
    return found


def measured(
    row: Prior, by_repository: dict[str, dict[Prior, Effect]], judged: dict[Prior, Effect]
) -> dict[str, int]:
    """What a row is worth: the numbers that stand in `priors.json`."""
    hit = [found[row] for found in by_repository.values() if row in found]
    return {
        "repositories": len(hit),
        "held_back": sum(one.come for one in hit),
        "made": sum(one.go for one in hit),
        "fixes": sum(one.fixes for one in hit),
        "fixtures": sum(judged.get(row, (0,))),
    }


def table(
    every: list[Prior],
    by_repository: dict[str, dict[Prior, Effect]],
    judged: dict[Prior, Effect],
) -> str:
    """Markdown: a row for each row."""
    lines = [
        f"{len(by_repository)} repositories",
        "",
        "| section | row | repositories | come without | go without | other fixes | fixtures |",
        "| --- | --- | --: | --: | --: | --: | --: |",
    ]
    idle = 0
    for row in every:
        worth = measured(row, by_repository, judged)
        idle += not worth["repositories"]
        match = row.match.replace("|", "\\|")
        numbers = " | ".join(str(number) for number in worth.values())
        lines.append(f"| {row.section} | `{match}` | {numbers} |")
    lines += ["", f"{idle} of {len(every)} rows change nothing."]
    return "\n".join(lines)


def record(
    every: list[Prior],
    by_repository: dict[str, dict[Prior, Effect]],
    judged: dict[Prior, Effect],
    date: str,
    file: Path,
) -> None:
    """Writes the numbers, and where they are from, into the data file."""
    tables = json.loads(file.read_text(encoding="utf-8"))
    for row in every:
        tables[row.section]["rows"][row.match]["measured"] = measured(row, by_repository, judged)
    tables["measured"] = {"date": date, "repositories": len(by_repository)}
    file.write_text(spelled(tables), encoding="utf-8")


def spelled(tables: dict[str, Any]) -> str:
    """The text of the data file: one line a row."""
    tables = {"measured": tables["measured"], **tables}
    return "{\n" + ",\n".join(_section(name, body) for name, body in tables.items()) + "\n}\n"


def _section(name: str, body: dict[str, Any]) -> str:
    if "rows" not in body:
        return f" {json.dumps(name)}: {json.dumps(body)}"
    head = [f"  {json.dumps(key)}: {json.dumps(body[key])}" for key in body if key != "rows"]
    rows = ",\n".join(
        f"   {json.dumps(key)}: {json.dumps(row)}" for key, row in body["rows"].items()
    )
    head.append(f'  "rows": {{\n{rows}\n  }}')
    return f" {json.dumps(name)}: {{\n" + ",\n".join(head) + "\n }"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="holds one checkout a folder")
    parser.add_argument("--rows", action="append", default=[], help="SECTION or SECTION/ROW")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--write", action="store_true", help=f"put the numbers into {priors.FILE}")
    parser.add_argument("--date", help="the day that goes with them")
    parser.add_argument("--fixtures", type=Path, help="programs that somebody has judged")
    arguments = parser.parse_args()
    if arguments.write and not arguments.date:
        parser.error("--write needs --date")
    every = rows(arguments.rows)
    folders = sorted(path for path in arguments.folder.resolve().iterdir() if path.is_dir())
    by_repository: dict[str, dict[Prior, Effect]] = {}
    with ProcessPoolExecutor(arguments.jobs) as pool:
        running = {folder.name: pool.submit(effects, folder, arguments.rows) for folder in folders}
        for at, (name, future) in enumerate(running.items(), 1):
            by_repository[name] = future.result()
            print(f"{at} of {len(folders)}: {name}", file=sys.stderr)
    fixtures = arguments.fixtures
    judged = effects(fixtures.resolve(), arguments.rows) if fixtures is not None else {}
    print(table(every, by_repository, judged))
    if arguments.write:
        file = Path(data.__file__).with_name(priors.FILE)
        record(every, by_repository, judged, arguments.date, file)


if __name__ == "__main__":
    main()
