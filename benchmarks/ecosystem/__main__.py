"""What a change of mpslint changes on public code: `make ecosystem CHECKOUTS=FOLDER`, or

    python benchmarks/ecosystem CHECKOUTS [--before REF] [--after REF] [--only PART] [--output FILE]

CHECKOUTS holds the repositories of `repositories.txt` at the commits that stand there, each in a
folder `owner+name`; those that are not there are left out, and counted. Findings and fixes of the
version REF of this repository (default: where this branch left `main`) are shown beside those of
the other (default: the files as they lie here), as Markdown. Nothing of a checkout is run.
"""

from __future__ import annotations

import argparse
import difflib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parents[2]
LISTED = Path(__file__).with_name("repositories.txt")
# `python -m` would look for modules in the checkout first.
START = "import sys; sys.path.pop(0); from mpslint.__main__ import main; sys.exit(main())"
MOST_SHOWN = 100


class Listed(NamedTuple):
    name: str
    commit: str


class Outcome(NamedTuple):
    """What one version says of one repository."""

    findings: Counter[tuple[str, str]]
    """By (code, the whole line)."""
    patch: list[str]
    error: str


class Compared(NamedTuple):
    repository: Listed
    gone: list[tuple[str, str]]
    new: list[tuple[str, str]]
    patch: list[str]
    """The difference of the two patches."""
    errors: list[str]

    @property
    def changed(self) -> bool:
        return bool(self.gone or self.new or self.patch or self.errors)


def listed(path: Path) -> list[Listed]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [Listed(*line.split()) for line in lines if line and not line.startswith("#")]


def checkout(folder: Path, repository: Listed) -> Path | None:
    for name in (repository.name.replace("/", "+"), repository.name):
        if (folder / name).is_dir():
            return folder / name
    return None


def wrong_commit(place: Path, repository: Listed) -> str:
    """Another commit than the listed one that lies there; empty where it is the one, or where only
    files lie there."""
    if not (place / ".git").exists():
        return ""
    ran = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=place, capture_output=True, text=True, check=False
    )
    found = ran.stdout.strip()
    return "" if found == repository.commit else found


def version(reference: str | None, work: Path) -> Path:
    """The folder with the package of a version; None: as it lies here."""
    if reference is None:
        return REPOSITORY / "src"
    command = ["git", "-C", str(REPOSITORY), "archive", reference, "src"]
    ran = subprocess.run(command, capture_output=True, check=False)
    if ran.returncode:
        sys.exit(f"{reference}: {os.fsdecode(ran.stderr).strip()}")
    place = work / reference.replace("/", "+")
    with tarfile.open(fileobj=io.BytesIO(ran.stdout)) as archive:
        archive.extractall(place)
    return place / "src"


def base() -> str:
    """The commit at which this branch left `main`."""
    command = ["git", "-C", str(REPOSITORY), "merge-base", "HEAD", "main"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        sys.exit("there is no branch `main` here: name a version with --before REF")
    return ran.stdout.strip()


def asked(source: Path, place: Path, work: Path) -> Outcome:
    common = ("--isolated", "--no-cache")
    checked = mpslint(
        source, place, work, "check", *common, "--exit-zero", "--output-format", "json", "."
    )
    fixed = mpslint(source, place, work, "fix", *common, "--no-verify", "--diff", "--quiet", ".")
    error = "" if checked.returncode in (0, 2) else said(checked)
    findings: Counter[tuple[str, str]] = Counter()
    top = os.path.realpath(place)
    for one in json.loads(checked.stdout or "[]"):
        path = os.path.relpath(one["filename"], top)
        cell = "" if one.get("cell") is None else f":cell {one['cell']}"
        start = one["location"]
        line = f"{path}{cell}:{start['row']}:{start['column']}: {one['code']} {one['message']}"
        findings[one["code"], line] += 1
    if fixed.returncode not in (0, 1, 2):
        error = error or said(fixed)
    return Outcome(findings, fixed.stdout.splitlines(), error)


def mpslint(
    source: Path, place: Path, work: Path, *arguments: str
) -> subprocess.CompletedProcess[str]:
    kept = {name: text for name, text in os.environ.items() if not name.startswith("MPSLINT_")}
    env = {**kept, "PYTHONPATH": str(source), "MPSLINT_CACHE_DIR": str(work / "cache")}
    command = [sys.executable, "-c", START, *arguments]
    return subprocess.run(
        command, cwd=place, env=env, capture_output=True, text=True, errors="replace", check=False
    )


def said(ran: subprocess.CompletedProcess[str]) -> str:
    return f"ended with {ran.returncode}: {(ran.stderr.strip().splitlines() or [''])[-1][:300]}"


def compared(repository: Listed, before: Outcome, after: Outcome) -> Compared:
    errors = [
        f"{which}: {outcome.error}"
        for which, outcome in (("before", before), ("after", after))
        if outcome.error
    ]
    gone = sorted((before.findings - after.findings).elements(), key=lambda one: one[1])
    new = sorted((after.findings - before.findings).elements(), key=lambda one: one[1])
    patch = list(difflib.unified_diff(before.patch, after.patch, lineterm="", n=2))[2:]
    return Compared(repository, gone, new, patch, errors)


def markdown(all_compared: list[Compared], absent: int, before: str, after: str) -> Iterator[str]:
    changed = [one for one in all_compared if one.changed]
    new, gone = (sum(len(getattr(one, field)) for one in changed) for field in ("new", "gone"))
    fixes = sum(bool(one.patch) for one in changed)
    yield f"## Ecosystem: {before} and {after}"
    yield ""
    yield (
        f"**+{new} -{gone} findings**, other fixes in {fixes} repositories; "
        f"{len(changed)} of {len(all_compared)} repositories changed, {absent} are not there."
    )
    codes = sorted({code for one in changed for code, _ in (*one.new, *one.gone)})
    if codes:
        yield from ("", "| rule | new | gone |", "| --- | ---: | ---: |")
        for code in codes:
            counts = [
                sum(found == code for one in changed for found, _ in getattr(one, field))
                for field in ("new", "gone")
            ]
            yield f"| {code} | {counts[0] or ''} | {counts[1] or ''} |"
    for one in changed:
        yield from _details(one)


def _details(one: Compared) -> Iterator[str]:
    name, commit = one.repository
    link = f'<a href="https://github.com/{name}/tree/{commit}">{name}</a>'
    fixes = ", other fixes" if one.patch else ""
    yield from ("", f"<details><summary>{link} (+{len(one.new)} -{len(one.gone)}{fixes})</summary>")
    lines = [("-", line) for _, line in one.gone] + [("+", line) for _, line in one.new]
    shown = [f"{sign} {line}" for sign, line in sorted(lines, key=lambda row: (row[1], row[0]))]
    for title, block in (("", shown), ("Fixes:", one.patch), ("Errors:", one.errors)):
        if block:
            yield from ("", *([title, ""] if title else []), "~~~~diff", *block[:MOST_SHOWN])
            if len(block) > MOST_SHOWN:
                yield f"... and {len(block) - MOST_SHOWN} lines more"
            yield "~~~~"
    yield from ("", "</details>")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--repositories", type=Path, default=LISTED, help="another list")
    parser.add_argument("--before", help="a commit of this repository")
    parser.add_argument("--after", help="another one; default: the files as they are")
    parser.add_argument("--only", default="", help="repositories whose name holds this")
    parser.add_argument("--output", type=Path, help="where the Markdown goes; default: stdout")
    options = parser.parse_args()
    before = options.before or base()
    absent = 0
    results = []
    with tempfile.TemporaryDirectory(prefix="ecosystem-") as folder:
        work = Path(folder)
        versions = [version(before, work), version(options.after, work)]
        for repository in listed(options.repositories):
            if options.only not in repository.name:
                continue
            place = checkout(options.checkouts.resolve(), repository)
            if place is None:
                absent += 1
                continue
            other = wrong_commit(place, repository)
            if other:
                print(f"note: {repository.name} is at {other}", file=sys.stderr)
            outcomes = [asked(source, place, work) for source in versions]
            results.append(compared(repository, *outcomes))
            one = results[-1]
            print(f"{repository.name}: +{len(one.new)} -{len(one.gone)}", file=sys.stderr)
    if not results:
        sys.exit(f"{options.checkouts}: holds no folder `owner+name` of {options.repositories}")
    lines = markdown(results, absent, before, options.after or "the files as they are")
    text = "\n".join(lines) + "\n"
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return int(any(one.errors for one in results))


if __name__ == "__main__":
    sys.exit(main())
