"""The oldest torch that a project asks for, from the files in which it says what it needs.

Read as text, nothing is run: `setup.py` is searched for requirements that it spells out. What a
package declares (pyproject.toml, setup.py, setup.cfg), `requirements.txt` and conda's
environments count together; other lists of requirements where none of these names a torch, and the
commands by which a README, a script or a Dockerfile installs one where no list does; and at last a
torchvision or a torchaudio, of which each release is built for one of torch. What lies in
folders without code (`requirements/`, `docker/`) counts behind the same in the project's own.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from mpslint.facts.torch_releases import torch_for
from mpslint.records import NamedTuple
from mpslint.sources.files import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_FIRST = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "environment.y*ml")
_DECLARING = frozenset({"pyproject.toml", "setup.py", "setup.cfg"})
_OTHERS = ("req*.txt",)
"""Also as people write it: `requirement.txt`, `requirments.txt`, `reqs.txt`."""
COMMANDS = ("README*", "readme*", "INSTALL*", "Dockerfile*", "*.sh")
"""What holds commands to install by; of their lines only these count."""
_CONDA = "*.y*ml"
"""What conda calls an environment may have any name; its list of `dependencies:` tells it."""
_DEPENDENCIES = "\ndependencies:"
_MOST_YAML = 20
"""A folder with more is one of a program's settings."""
ROOT = (".git", "pyproject.toml", "setup.py", "setup.cfg", "mpslint.toml")
"""What only the topmost folder of a project has, or of a package that lies in one."""
PRESENTING = ("readme",)
"""How the name of a file begins that presents the folder as a project, in any case of letters."""
_LISTING = "requirement*"
"""Of a folder of this name each text is a list of requirements."""
_MOST_FOLDERS, _DEPTH = 200, 2
"""So many folders without code are looked into, and so deep."""
_MAX_BYTES = 1 << 20
_LONGEST_LINE = 500
_TORCH = ("torch=", "torch<", "torch>", "torch~", "pytorch=", "pytorch<", "pytorch>")
_ONE = r"(?:===|==|~=|>=|<=|!=|[<>=^~])[ ]*[\"']?v?[0-9]{1,4}(?:\.[0-9*a-z+]{1,20}){0,5}"
_AT = r"(?:^[ \t]*(?:-[ \t]*)?[\"']?|[\"'])(?:[\w-]{1,40}::)?"
_ASKED = (
    r"(?:\[[\w, -]{1,40}\])?[\"']?[ \t]*"
    rf"(?:=[ \t]*(?={{|[\"']))?(?:{{[ \t]*version[ \t]*=[ \t]*)?[\"'(]?((?:{_ONE}[ \t]*,?[ \t]*)+)"
)
_NAMED = rf"{_AT}(?:py)?(torch){_ASKED}"
_COMPANIONS = rf"{_AT}(torchvision|torchaudio){_ASKED}"
_BARE = r"(?:^[ \t]*(?:-[ \t]*)?|[\"'])(?:py)?torch[\"']?[ \t]*(?:[;,\]#]|$)"
"""A requirement of torch, whichever."""
_MARKED = r"[\"')]?[ \t]*;"
"""What follows a requirement of some machines or Pythons alone (PEP 508)."""
_PART = r"(===|==|~=|>=|<=|!=|[<>=^~])[ ]*[\"']?v?([0-9]{1,4})(?:\.([0-9]{1,4})(\.[0-9])?)?"
_LOWER = frozenset({"===", "==", "~=", ">=", ">", "=", "^", "~"})
_UPPER = frozenset({"===", "==", "<=", "=", "~"})


class Pin(NamedTuple):
    """The requirement of a project that lets the oldest torch in."""

    oldest: tuple[int, int]
    place: str
    """The file, from the project's top, with the row: `requirements.txt:3`."""
    newest: tuple[int, int] | None = None
    """The newest torch that the project lets in; None: any."""

    @property
    def is_said(self) -> bool:
        """Whether somebody says so; what only code shows has no row."""
        return self.place.rpartition(":")[2].isdigit()


def _together(pins: list[Pin]) -> Pin:
    """The pin that lets the oldest torch in, and the newest one that all who install the package
    get: what it declares itself holds for each of them."""
    first = min(pins, key=lambda pin: (pin.oldest, pin.place))
    declared = [pin for pin in pins if pin.place.rpartition(":")[0] in _DECLARING]
    file = first.place.rpartition(":")[0]
    beside = [pin for pin in pins if pin.place.rpartition(":")[0] == file]
    newest = [pin.newest for pin in declared or beside]
    bounds = [release for release in newest if release is not None]
    return first._replace(newest=max(bounds) if len(bounds) == len(newest) else None)


class Pins:
    """The pin of each folder, looked up once."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Pin | None, bool]] = {}

    def of(self, folder: str) -> Pin | None:
        """The pin that holds for files in `folder`: that of the project's topmost folder, else of
        the nearest one above that has any."""
        return self._find(os.path.abspath(folder))[0]

    def _find(self, folder: str) -> tuple[Pin | None, bool]:
        """The pin, and whether it is that of a whole project."""
        if folder not in self._known:
            names = names_in(folder)
            own, above = _pin_in(folder, names), os.path.dirname(folder)
            if above == folder or ends_project(names) or (own is not None and is_root(names)):
                self._known[folder] = own, own is not None
            else:
                pin, is_whole = self._find(around(folder, names))
                self._known[folder] = pin if is_whole else own or pin, is_whole
        return self._known[folder]


def around(folder: str, names: set[str]) -> str:
    """The folder above one, of these names, that may say something of it. Of a project only another
    one does, of which it is a part: what else lies above it is where somebody keeps it."""
    above = os.path.dirname(folder)
    while is_project(names) and not is_project(names_in(above)):
        if os.path.dirname(above) == above:
            break
        above = os.path.dirname(above)
    return above


def is_project(names: set[str]) -> bool:
    return any(name in ROOT or name.lower().startswith(PRESENTING) for name in names)


def is_root(names: set[str]) -> bool:
    return any(name in names for name in ROOT)


def ends_project(names: set[str]) -> bool:
    """Whether nothing above belongs to the project. A package that is built by itself may still be
    a part of one (`setup.py` of its compiled operators), and has its torch where it names none."""
    return ".git" in names


def names_in(folder: str) -> set[str]:
    try:
        return set(os.listdir(folder))
    except OSError:
        return set()


def _is_like(name: str, pattern: str) -> bool:
    """Whether a name is of a pattern in which `*` alone stands for others: `fnmatch` would make a
    regular expression of each, which takes longer than to look at all names of a folder."""
    head, *parts = pattern.split("*")
    if not parts or not name.startswith(head):
        return name == pattern
    at = len(head)
    for part in parts[:-1]:
        found = name.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return name.endswith(parts[-1]) and at + len(parts[-1]) <= len(name)


_COUNTING = (*_FIRST, *_OTHERS, *COMMANDS, _CONDA)
_BEGINNINGS = tuple(one.partition("*")[0] for one in _COUNTING if not one.startswith("*"))
_ENDS = tuple(one.partition("*")[2] for one in _COUNTING if one.startswith("*") and one != _CONDA)


def _may_count(name: str) -> bool:
    """Most names of a folder are of none of these files, which a glance says."""
    return name.startswith(_BEGINNINGS) or name.endswith(_ENDS) or _is_like(name, _CONDA)


def _pin_in(folder: str, names: set[str]) -> Pin | None:
    """By what names torch; where nothing does, by a package that is built for one torch alone."""
    companions: list[Pin] = []
    for texts in _lists(folder, names):
        found = [pin for name, text in texts for pin in _pins_in(name, text)]
        if found:
            return _together(found)
        if not companions:
            companions = [pin for name, text in texts for pin in _companions_in(name, text)]
    return _together(companions) if companions else None


def _lists(folder: str, names: set[str]) -> Iterator[list[tuple[str, str]]]:
    """The texts of a folder that may list requirements, by the names that people see: together what
    counts together, and first what counts first."""
    whole = is_project(names)
    names = set(filter(_may_count, names))
    yaml = {name for name in names if _is_like(name, _CONDA)}
    if len(yaml) > _MOST_YAML:
        names = names - {name for name in yaml if not _is_first(name)}
    below: list[tuple[str, list[str]]] | None = None
    for wanted in (_FIRST, _OTHERS, COMMANDS):
        yield [
            (name, _requirements(folder, name))
            for name in sorted(names)
            if _is_wanted(name, wanted)
        ]
        if below is None:
            below = list(_without_code(folder)) if whole else []
        yield [
            (_shown(folder, inner, name), _requirements(inner, name))
            for inner, held in below
            for name in held
            if _is_wanted(name, wanted)
            or (wanted is _OTHERS and _is_list(os.path.basename(inner), name))
        ]


def _is_wanted(name: str, wanted: tuple[str, ...]) -> bool:
    return any(_is_like(name, pattern) for pattern in (*wanted, _CONDA))


def _is_list(folder: str, name: str) -> bool:
    return _is_like(folder, _LISTING) and name.endswith((".txt", ".in"))


def _shown(top: str, folder: str, name: str) -> str:
    return os.path.relpath(os.path.join(folder, name), top).replace(os.sep, "/")


def _without_code(top: str) -> Iterator[tuple[str, list[str]]]:
    """The folders of a project that hold no Python, nor do theirs, with their files: what such a
    folder asks for is asked for the whole project, and not for the code beside it."""
    left = _MOST_FOLDERS

    def look(folder: str, depth: int) -> list[tuple[str, list[str]]] | None:
        """The folder and those in it; None where one holds code."""
        nonlocal left
        left -= 1
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name) if left >= 0 else []
            inner = [e.path for e in entries if e.is_dir(follow_symlinks=False)]
        except OSError:
            return []
        names = [entry.name for entry in entries]
        if any(name.endswith((".py", ".ipynb")) for name in names):
            return None
        found = [(folder, names)]
        for path in inner if depth > 1 else ():
            below = look(path, depth - 1)
            if below is None:
                return None
            found += below
        return found

    try:
        folders = sorted(e.path for e in os.scandir(top) if e.is_dir(follow_symlinks=False))
    except OSError:
        return
    for folder in folders:
        if not os.path.basename(folder).startswith("."):
            yield from look(folder, _DEPTH) or ()


def _installed(line: str) -> str:
    """The torch that `pip install ...` or `conda install ...` names; empty for any other line."""
    if len(line) > _LONGEST_LINE or "install" not in (words := line.split()):
        return ""
    return next((word.strip("`") for word in words if word.strip("`'\"").startswith(_TORCH)), "")


def _is_first(name: str) -> bool:
    return any(_is_like(name, pattern) for pattern in _FIRST)


def _requirements(folder: str, name: str) -> str:
    """The text of a file that may list requirements; empty for YAML of another purpose."""
    text = text_of(os.path.join(folder, name))
    if any(_is_like(name, pattern) for pattern in COMMANDS):
        return "\n".join(map(_installed, text.splitlines()))
    if not _is_like(name, _CONDA):
        return text
    if _DEPENDENCIES in f"\n{text}":
        return _depended_on(text)
    return text if _is_first(name) else ""


def _depended_on(text: str) -> str:
    """What conda's environment asks for, each in its row: its list of `channels:` names places to
    get packages from (`- pytorch`), which ask for none."""
    kept, inside = [], False
    for line in text.splitlines():
        if line[:1] not in ("", " ", "\t", "-", "#"):
            inside = f"\n{line}".startswith(_DEPENDENCIES)
        kept.append(line if inside else "")
    return "\n".join(kept)


def text_of(path: str) -> str:
    try:
        return read_regular(path, _MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _pins_in(name: str, text: str) -> list[Pin]:
    """What the requirements in a text of this name say of torch, a pin for each that bounds it."""
    rows = list(_rows(text))
    found = _pins_of(_NAMED, name, rows)
    if found and any(re.search(_BARE, line) for _, line in rows):
        # Any torch beside it binds nobody's newest one.
        return [pin._replace(newest=None) for pin in found]
    return found


def _companions_in(name: str, text: str) -> list[Pin]:
    """The same of packages of which each release is for one of torch."""
    return _pins_of(_COMPANIONS, name, _rows(text))


def _rows(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a text that may ask for torch, or for what is built for one."""
    for row, line in enumerate(text.splitlines() if "torch" in text else (), 1):
        if "torch" in line and len(line) <= _LONGEST_LINE and not line.lstrip().startswith("#"):
            yield row, line


def _pins_of(named: str, file: str, rows: Iterable[tuple[int, str]]) -> list[Pin]:
    """The torch that is asked for by the packages that a pattern finds."""
    found = []
    for row, line in rows:
        for match in re.finditer(named, line):
            package, asked = match.groups()
            oldest = _torch_for(package, _oldest(asked))
            if oldest is not None:
                # What holds for some machines binds nobody's newest one.
                is_for_all = re.match(_MARKED, line[match.end() :]) is None
                newest = _torch_for(package, _newest(asked)) if is_for_all else None
                found.append(Pin(oldest, f"{file}:{row}", newest))
    return found


def _torch_for(package: str, release: tuple[int, int] | None) -> tuple[int, int] | None:
    return torch_for(package, release) if release is not None else None


def _oldest(specifiers: str) -> tuple[int, int] | None:
    """The oldest release that is meant; of one that is bounded above alone, the newest, since it is
    what one gets."""
    lower, upper = [], []
    for sign, major, minor, _ in re.findall(_PART, specifiers):
        release = int(major), int(minor or 0)
        if sign in _LOWER:
            lower.append(release)
        elif sign != "!=":
            upper.append(release if sign == "<=" else _before(release))
    if lower:
        return max(lower)
    return min(upper, default=None)


def _newest(specifiers: str) -> tuple[int, int] | None:
    """The newest release that is meant: a requirement of one names it, and one of what is
    compatible lets in those that have all of its numbers but the last (PEP 440, `~=1.7.1`)."""
    found = []
    for sign, major, minor, patch in re.findall(_PART, specifiers):
        release = int(major), int(minor or 0)
        if sign == "<":
            found.append(_before(release))
        elif minor and (sign in _UPPER or (sign == "~=" and patch)):
            found.append(release)
        elif sign in ("~=", "^") and minor and major == "1":
            found.append(_before((2, 0)))
    return min(found, default=None)


def _before(release: tuple[int, int]) -> tuple[int, int]:
    major, minor = release
    if minor:
        return major, minor - 1
    return (1, 13) if major == 2 else (max(major - 1, 0), 99)
