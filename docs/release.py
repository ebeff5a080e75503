"""Make a release: `make release VERSION=0.1.0`, or this after `make test`.

In one commit the version, the date in the changelog and the tag in the documents' recipes, and that
tag. The documents name a tag from the commit on that has it, so none names one that is not there.
What is pushed is said at the end and left to you.
"""

from __future__ import annotations

import datetime
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHANGELOG, CODE = "CHANGELOG.md", "src/mpslint/__init__.py"
RECIPES = ("docs/ci.md",)
_VERSION = re.compile(r"\d+\.\d+\.\d+")
_NAMED = r"(?:COMMIT|v\d+\.\d+\.\d+)"
_PLACES = (
    (re.compile(rf"(mpslint@){_NAMED}"), r"\g<1>{tag}"),
    (re.compile(rf"( rev: ){_NAMED}(?: +#.*)?"), r"\g<1>{tag}"),
)


class Refused(Exception):
    """A release that cannot be made, and why."""


def released(texts: dict[str, str], version: str, today: str) -> dict[str, str]:
    """The files as they are in the release. Raises `Refused`."""
    heading = f"## {version} (unreleased)"
    if texts[CHANGELOG].count(heading) != 1:
        raise Refused(f"{CHANGELOG} has no heading {heading!r}")
    made = {CHANGELOG: texts[CHANGELOG].replace(heading, f"## {version} ({today})")}
    made[CODE] = re.sub(r'__version__ = ".*"', f'__version__ = "{version}"', texts[CODE])
    for path in RECIPES:
        text = texts[path]
        for place, new in _PLACES:
            text, found = place.subn(new.format(tag=f"v{version}"), text)
            if not found:
                raise Refused(f"{path} has no recipe that names a tag or COMMIT")
        made[path] = text
    return made


def release(root: Path, version: str, today: str) -> str:
    """Makes it in the repository at `root`; what is left to do. Raises `Refused`."""
    if not _VERSION.fullmatch(version):
        raise Refused(f"{version!r} is no version such as 0.1.0: make release VERSION=0.1.0")
    tag = f"v{version}"
    if _git(root, "status", "--porcelain"):
        raise Refused("commit what has changed first")
    branch = _git(root, "rev-parse", "--abbrev-ref", "HEAD")
    if branch != "main":
        raise Refused(f"a release is made on main, not on {branch}")
    if _git(root, "tag", "--list", tag):
        raise Refused(f"{tag} is there already")
    texts = {
        path: (root / path).read_text(encoding="utf-8") for path in (CHANGELOG, CODE, *RECIPES)
    }
    for path, text in released(texts, version, today).items():
        (root / path).write_text(text, encoding="utf-8", newline="\n")
    _git(root, "commit", "--quiet", "--all", "--message", f"Version {version}")
    _git(root, "tag", "--annotate", "--message", f"mpslint {version}", tag)
    return f"made {tag}; publish it with\n  git push --atomic origin main {tag}"


def _git(root: Path, *arguments: str) -> str:
    ran = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise Refused(f"git {arguments[0]}: {ran.stderr.strip()}")
    return ran.stdout.strip()


if __name__ == "__main__":
    try:
        print(release(ROOT, (sys.argv[1:] or [""])[0], datetime.date.today().isoformat()))
    except Refused as error:
        raise SystemExit(f"error: {error}") from None
