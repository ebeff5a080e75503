"""Every Python file that can be had: none crashes the check, none takes long, and the findings are
the same with and without cache, in one process and in several, in each Python."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path

from told import MPSLINT, Row, Share, environment

SECONDS = 10.0
ONE_BY_ONE = Path(__file__).with_name("one_by_one.py")
Found = dict[str, list[list[object]]]
"""Path -> [cell, row, column, end row, end column, code, message] of each finding."""
NAMED_AT_ONCE = 1000
"""Files that one command line holds."""
NONE_EXCLUDED = ("--isolated", "--no-respect-gitignore", "--exclude", "no/such/folder")


class Outcome:
    """What one Python said of all files."""

    def __init__(self) -> None:
        self.found: Found = {}
        self.wrong: list[str] = []
        self.slowest = (0.0, "")
        self.refused = 0

    def take(self, path: str, seconds: float, error: str | None, found: list[list[object]]) -> None:
        self.slowest = max(self.slowest, (seconds, path))
        if error is None:
            if found:
                self.found[path] = found
            return
        self.refused += 1
        said = error.splitlines()
        if "internal error" in error or "took longer" in error or len(said) != 1:
            self.wrong.append(error)
        elif not error.startswith(path):
            self.wrong.append(f"{path}: refused by a line that does not name it: {error}")


def standard_folders() -> list[str]:
    """What is on every machine: the installed packages, the standard library and its tests."""
    return [sysconfig.get_path("purelib"), sysconfig.get_path("stdlib")]


def pythons(named: Sequence[str]) -> dict[str, str]:
    """The interpreters to try, by version: this one, those named, and those on PATH that answer."""
    candidates = [sys.executable, *named]
    candidates += filter(None, (shutil.which(f"python3.{minor}") for minor in range(10, 30)))
    found: dict[str, str] = {}
    say = "import sys; print('.'.join(map(str, sys.version_info[:3])))"
    for python in candidates:
        ran = subprocess.run([python, "-c", say], capture_output=True, text=True)
        if ran.returncode == 0 and tuple(map(int, ran.stdout.split("."))) >= (3, 10):
            found.setdefault(ran.stdout.strip(), python)
    return dict(sorted(found.items(), key=lambda item: [int(part) for part in item[0].split(".")]))


def every_file(folders: Sequence[str]) -> list[str]:
    """The files below the folders as a run would list them."""
    from mpslint.folders.discovery import targets
    from mpslint.settings.file import SettingsFinder

    finder = SettingsFinder({"exclude": (), "respect_gitignore": False}, isolated=True)
    unsaid: list[str] = []
    return [target.path for target in targets(list(folders), finder, unsaid.append)]


def one_by_one(python: str, paths: Sequence[str], work: Path) -> Outcome:
    """Each file by itself; what ends the whole process costs the file it ended on."""
    outcome = Outcome()
    env = environment(work)
    rest = list(paths)
    while rest:
        listing, results = work / "list", work / "results"
        listing.write_bytes(os.fsencode("\0".join(rest)))
        results.unlink(missing_ok=True)
        command = [python, str(ONE_BY_ONE), str(listing), str(results), str(SECONDS)]
        ran = subprocess.run(command, env=env, capture_output=True, text=True, errors="replace")
        begun = None
        done = 0
        for line in _lines(results):
            row = json.loads(line)
            if isinstance(row, str):
                begun = row
            else:
                outcome.take(*row)
                done, begun = done + 1, None
        if ran.returncode == 0:
            break
        if begun is None:
            sys.exit(f"{python} cannot run mpslint: {ran.stderr.strip()[-500:]}")
        outcome.wrong.append(f"{begun}: ended the process: {ran.stderr.strip()[-300:]}")
        rest = rest[done + 1 :]
    return outcome


def _lines(path: Path) -> Iterator[str]:
    if path.exists():
        with path.open(encoding="utf-8") as file:
            yield from file


def by_command(named: Sequence[str], work: Path, *options: str) -> Found:
    """What `mpslint check` says of files or folders, as `one_by_one` has it."""
    command = [*MPSLINT, "check", "--exit-zero", *NONE_EXCLUDED, "--select", "ALL"]
    command += ["--output-format", "json", "--max-file-size", "0", *options, *named]
    ran = subprocess.run(command, env=environment(work), capture_output=True, text=True, cwd=work)
    found: Found = {}
    for one in json.loads(ran.stdout):
        start, end = one["location"], one["end_location"]
        place = [start["row"], start["column"], end["row"], end["column"]]
        entry = [one.get("cell"), *place, one["code"], one["message"]]
        found.setdefault(one["filename"], []).append(entry)
    return found


def differences(one: Found, other: Found) -> list[str]:
    """Files of which the two do not say the same, in whatever order."""
    wrong = []
    for path in sorted({*one, *other}):
        ours, theirs = (sorted(map(json.dumps, found.get(path, ()))) for found in (one, other))
        if ours != theirs:
            apart = [text for text in (*ours, *theirs) if (text in ours) != (text in theirs)]
            wrong.append(f"{path}: {apart[0] if apart else 'another order'}")
    return wrong


def rows(folders: Sequence[str], others: Sequence[str], work: Path, share: Share) -> Iterator[Row]:
    """`others`: interpreters besides this one."""
    paths = share.part([os.path.abspath(path) for path in every_file(folders)])
    # The whole is found by walking the folders; of a part each file is named.
    turns = [paths[at : at + NAMED_AT_ONCE] for at in range(0, len(paths), NAMED_AT_ONCE)]
    named = [folders] if share == Share() else turns
    known = pythons(others)
    mine = ".".join(map(str, sys.version_info[:3]))
    outcomes = {}
    for version, python in known.items():
        outcome = outcomes[version] = one_by_one(python, paths, work)
        also = {
            "findings": sum(map(len, outcome.found.values())),
            "files refused in a line": outcome.refused,
        }
        seconds, path = outcome.slowest
        slowest = (seconds, os.path.basename(path))
        what = f"every file, Python {version}"
        yield Row(what, len(paths), "files", tuple(outcome.wrong), "", also, slowest)
    plain = outcomes[mine].found
    for name in ("in two processes, into an empty cache", "from the cache"):
        found: Found = {}
        for turn in named:
            found |= by_command(turn, work, "--jobs", "2")
        wrong = differences(plain, found)
        yield Row(f"the same findings {name}", len(paths), "files", tuple(wrong))
    for version, outcome in outcomes.items():
        if version != mine:
            # What one Python refuses as no Python of its own has no findings there.
            both = [path for path in plain if path in outcome.found]
            wrong = differences(
                {path: plain[path] for path in both}, {path: outcome.found[path] for path in both}
            )
            yield Row(f"the same findings in Python {version}", len(both), "files", tuple(wrong))
