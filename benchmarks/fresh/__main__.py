"""What a first look is made of: findings, files and fixed files, drawn by lot for readers.

    python benchmarks/fresh findings CHECKOUTS OUT --seed 46
    python benchmarks/fresh files    CHECKOUTS OUT --seed 46
    python benchmarks/fresh fixes    CHECKOUTS OUT --seed 46

CHECKOUTS holds one repository a folder, under the name that a clone gives it: a package that is
named after its repository is not found otherwise. `findings` writes 60 drawn uniformly and up to 14
of each rule (at most 3 of a repository) into OUT/findings.tsv, in an order that says nothing, which
of them are the uniform ones into OUT/drawn.json, and all there are into OUT/all.json; `files` those
that a reader lists faults of before he sees any output; `fixes` the changes of fixed files, by safe
fixes and by what unsafe ones add. Nothing in the lists tells a reader more than a user sees. How
they judge: README.md here.
"""

from __future__ import annotations

import argparse
import difflib
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

UNIFORM = 60
OF_A_RULE = 14
OF_A_REPOSITORY = 3
FILES = 40
FIXED = 45
LONGEST = 60_000
"""Characters of a file that a reader is asked to list; longer ones take him the whole time."""
_SPEAKS_OF_DEVICES = re.compile(
    r"cuda|device|\.to\(|\.item\(\)|\.numpy\(\)|perf_counter|time\.time|float64|\.double\(\)"
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").split("\n", 1)[0],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=("findings", "files", "fixes"))
    parser.add_argument("checkouts", type=Path, help="a folder with one repository a folder")
    parser.add_argument("out", type=Path, help="the folder that the lists are written into")
    parser.add_argument("--seed", required=True, help="so that the same is drawn again")
    given = parser.parse_args()
    if not given.checkouts.is_dir():
        parser.error(f"{given.checkouts}: no such folder")
    given.out.mkdir(parents=True, exist_ok=True)
    draw = {"findings": _findings, "files": _files, "fixes": _fixes}[given.what]
    draw(given.checkouts.resolve(), given.out.resolve(), random.Random(given.seed))


def _repositories(checkouts: Path) -> list[Path]:
    return sorted(one for one in checkouts.iterdir() if one.is_dir())


def _mpslint(repository: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "mpslint", *arguments, "."]
    ended = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False)
    if ended.returncode not in (0, 1):
        print(f"{repository.name}: {ended.stderr.strip()[-300:]}")
    return ended.stdout


def _findings(checkouts: Path, out: Path, lot: random.Random) -> None:
    found: list[dict[str, Any]] = []
    for repository in _repositories(checkouts):
        text = _mpslint(repository, "check", "--no-cache", "--output-format", "json")
        found += [one | {"repository": repository.name} for one in json.loads(text or "[]")]
    counted = [one for one in found if one["severity"] != "slow"]
    levels = Counter((one["fix"] or {}).get("applicability", "none") for one in counted)
    print(f"{len(found)} findings; of {len(counted)} that break or ignore: {dict(levels)}")
    (out / "all.json").write_text(json.dumps(found), "utf-8")
    uniform = set(lot.sample(range(len(found)), min(UNIFORM, len(found))))
    drawn = sorted(uniform | _more_of_each_rule(found, uniform, lot))
    lot.shuffle(drawn)
    lines = [f"{number}\t{_as_told(found[number])}\n" for number in drawn]
    (out / "findings.tsv").write_text("".join(lines), "utf-8")
    about = {
        number: {key: found[number][key] for key in ("code", "repository")}
        | {"uniform": number in uniform}
        for number in drawn
    }
    (out / "drawn.json").write_text(json.dumps(about, indent=1), "utf-8")
    print(f"{len(drawn)} drawn: {out / 'findings.tsv'}")


def _more_of_each_rule(found: list[dict[str, Any]], have: set[int], lot: random.Random) -> set[int]:
    rules = Counter(found[number]["code"] for number in have)
    places = Counter((found[number]["code"], found[number]["repository"]) for number in have)
    more: set[int] = set()
    for number in lot.sample(range(len(found)), len(found)):
        code, place = found[number]["code"], (found[number]["code"], found[number]["repository"])
        if number in have or rules[code] >= OF_A_RULE or places[place] >= OF_A_REPOSITORY:
            continue
        more.add(number)
        rules[code] += 1
        places[place] += 1
    return more


def _as_told(one: dict[str, Any]) -> str:
    """Place, severity, confidence and message of a finding, as a user sees them."""
    cell = f" cell {one['cell']}" if one["cell"] else ""
    place = f"{one['filename']}{cell}:{one['location']['row']}"
    related = "".join(
        f" [line {more['location']['row']}: {more['message']}]" for more in one["related"]
    )
    return "\t".join((place, one["severity"], one["confidence"], one["message"] + related))


def _files(checkouts: Path, out: Path, lot: random.Random) -> None:
    of: dict[str, list[Path]] = defaultdict(list)
    for repository in _repositories(checkouts):
        for path in sorted(repository.rglob("*.py")):
            text = path.read_text("utf-8", errors="replace") if path.is_file() else ""
            if len(text) < LONGEST and "torch" in text and _SPEAKS_OF_DEVICES.search(text):
                of[repository.name].append(path)
    drawn = _in_turn(of, FILES, FILES, lot)
    (out / "files.txt").write_text("".join(f"{path}\n" for path in drawn), "utf-8")
    print(f"{len(drawn)} files of {len(of)} repositories: {out / 'files.txt'}")


def _fixes(checkouts: Path, out: Path, lot: random.Random) -> None:
    with tempfile.TemporaryDirectory() as folder:
        safe, every = Path(folder, "safe"), Path(folder, "every")
        for copy, more in ((safe, ()), (every, ("--unsafe-fixes",))):
            shutil.copytree(checkouts, copy, symlinks=True)
            for repository in _repositories(copy):
                _mpslint(repository, "fix", "--no-verify", "--exit-zero", *more)
        changed: dict[str, list[Path]] = defaultdict(list)
        for path in sorted(every.rglob("*")):
            place = path.relative_to(every)
            if path.suffix in (".py", ".ipynb") and path.is_file() and not path.is_symlink():
                if _bytes(checkouts / place) != path.read_bytes():
                    changed[place.parts[0]].append(place)
        drawn = sorted(_in_turn(changed, FIXED, OF_A_REPOSITORY, lot))
        pages = []
        for number, place in enumerate(drawn):
            first = _change(checkouts / place, safe / place)
            then = _change(safe / place, every / place)
            pages.append(
                f"## f{number} {place}\n\n### by safe fixes\n\n{first}\n"
                f"### what unsafe fixes add\n\n{then}\n"
            )
    (out / "fixes.md").write_text("".join(pages), "utf-8")
    total = sum(map(len, changed.values()))
    print(f"{len(drawn)} of {total} files of {len(changed)} repositories: {out / 'fixes.md'}")


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


def _change(before: Path, after: Path) -> str:
    lines = [
        _bytes(path).decode("utf-8", "replace").splitlines(keepends=True)
        for path in (before, after)
    ]
    text = "".join(difflib.unified_diff(*lines, "before", "after", n=4))
    return f"````diff\n{text}````\n" if text else "nothing\n"


def _in_turn(of: dict[str, list[Path]], most: int, each: int, lot: random.Random) -> list[Path]:
    """By turns from each repository, so that no large one fills the list."""
    names = sorted(of)
    lot.shuffle(names)
    queues = [lot.sample(of[name], len(of[name]))[:each] for name in names]
    turns = [one for turn in range(each) for queue in queues for one in queue[turn : turn + 1]]
    return turns[:most]


if __name__ == "__main__":
    main()
