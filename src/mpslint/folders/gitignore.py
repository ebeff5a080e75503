"""What `.gitignore` files leave out, as git reads them.

A pattern is matched in time that grows with its length times that of the name: regular expressions
in which stars may try all places together can be made to take years by a line of stars.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from mpslint.errors import reason_of
from mpslint.records import NamedTuple
from mpslint.sources.files import read_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_MAX_BYTES = 1 << 20
_LONGEST = 1000
"""Longer patterns name no file."""
_POSIX = {
    "alnum": r"^\W_", "alpha": r"^\W\d_", "blank": r" \t", "cntrl": r"\x00-\x1f\x7f",
    "digit": r"\d", "graph": r"\x21-\x7e", "lower": r"a-z", "print": r"\x20-\x7e",
    "punct": r"!-/:-@\[-`{-~", "space": r"\s", "upper": r"A-Z", "xdigit": r"0-9A-Fa-f",
}  # fmt: skip


class _Rule(NamedTuple):
    """One line. `segments`: of a path below the file's folder, None for `**`; a single one of a
    rule that is not `anchored` is the base name."""

    take_back: bool
    only_folders: bool
    anchored: bool
    segments: tuple[re.Pattern[str] | None, ...]


class _Layer(NamedTuple):
    folder: str
    """Absolute, with a separator behind it."""
    rules: tuple[_Rule, ...]

    def says(self, path: str, is_folder: bool) -> bool | None:
        """Whether the absolute path is left out; None where no line is about it."""
        if not path.startswith(self.folder):
            return None
        names = path[len(self.folder) :].split(os.sep)
        for rule in reversed(self.rules):
            if rule.only_folders and not is_folder:
                continue
            if _matches(rule.segments, names if rule.anchored else names[-1:]):
                return not rule.take_back
        return None


class Ignores(NamedTuple):
    """The ignore files that hold in one folder, the nearest last (it is asked first)."""

    layers: tuple[_Layer, ...]
    all: bool = False
    """The folder itself is left out, and so is everything in it."""

    def ignored(self, path: str, is_folder: bool) -> bool:
        """Whether a file or folder is left out; the folder that it lies in is not."""
        if self.all:
            return True
        full = os.path.abspath(path)
        for layer in reversed(self.layers):
            said = layer.says(full, is_folder)
            if said is not None:
                return said
        return False


def above(top: str, warn: Callable[[str], None]) -> Ignores | None:
    """The ignore files of the repository that `top` lies in, without those of `top` itself."""
    folders: list[str] = []
    folder = os.path.abspath(top)
    while not os.path.lexists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folders.append(folder)
        folder = parent
    found = _with_file(None, folder, os.path.join(folder, ".git", "info", "exclude"), warn)
    for below in reversed(folders):
        found = extended(found, os.path.dirname(below), warn)
        if found is not None and found.ignored(below, True):
            return found._replace(all=True)
    return found


def extended(ignores: Ignores | None, folder: str, warn: Callable[[str], None]) -> Ignores | None:
    """`ignores` and what the `.gitignore` in `folder` adds to it."""
    return _with_file(ignores, os.path.abspath(folder), os.path.join(folder, ".gitignore"), warn)


def _with_file(
    ignores: Ignores | None, folder: str, path: str, warn: Callable[[str], None]
) -> Ignores | None:
    try:
        data = read_regular(path, _MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return ignores
    except OSError as error:
        warn(f"{path}: cannot be read, so nothing is left out by it: {reason_of(error)}")
        return ignores
    rules = tuple(_rules(data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")))
    if not rules:
        return ignores
    layer = _Layer(folder.rstrip(os.sep) + os.sep, rules)
    return Ignores((*(ignores.layers if ignores else ()), layer), bool(ignores and ignores.all))


def _rules(text: str) -> Iterator[_Rule]:
    for line in text.split("\n"):
        pattern = _trimmed(line.removesuffix("\r"))
        if not pattern or pattern.startswith("#") or len(pattern) > _LONGEST:
            continue
        take_back = pattern.startswith("!")
        pattern = pattern[take_back:]
        only_folders = pattern.endswith("/")
        pattern = pattern[: -1 if only_folders else None]
        anchored = "/" in pattern
        texts = _segments(pattern.removeprefix("/")) if pattern.strip("/") else None
        if texts is None:
            continue
        if not anchored:
            yield _Rule(take_back, only_folders, False, (_compiled(texts[0]),))
            continue
        segments = [None if _is_any(tokens) else _compiled(tokens) for tokens in texts]
        if segments[-1] is None:
            # `a/**` is what lies in the folder, not the folder.
            segments.insert(-1, _compiled([_STAR]))
        yield _Rule(take_back, only_folders, True, tuple(segments))


def _trimmed(line: str) -> str:
    """Without blanks at the end, but for one behind a backslash."""
    bare = line.rstrip(" ")
    behind = len(bare) - len(bare.rstrip("\\"))
    return line[: len(bare) + 1] if behind % 2 else bare


_STAR = "*"


def _is_any(tokens: list[str]) -> bool:
    return len(tokens) > 1 and all(token == _STAR for token in tokens)


def _segments(pattern: str) -> list[list[str]] | None:
    """The tokens of each part between slashes, `*` or a regular expression of one character;
    None for a pattern that matches nothing."""
    found: list[list[str]] = [[]]
    at = 0
    while at < len(pattern):
        char = pattern[at]
        at += 1
        if char == "\\":
            if at == len(pattern):
                return None
            char, at = pattern[at], at + 1
            if char != "/":
                found[-1].append(re.escape(char))
                continue
        if char == "/":
            found.append([])
        elif char == "*":
            found[-1].append(_STAR)
        elif char == "?":
            found[-1].append(".")
        elif char == "[":
            known = _class(pattern, at)
            if known is None:
                return None
            token, at = known
            found[-1].append(token)
        else:
            found[-1].append(re.escape(char))
    return found


def _class(pattern: str, at: int) -> tuple[str, int] | None:
    """The regular expression of the class whose `[` stands before `at`, and the place behind it;
    None for one that has no end or an unknown name."""
    negated = pattern[at : at + 1] in ("!", "^")
    at += negated
    choices: list[str] = []
    before = ""
    first = True
    while first or pattern[at : at + 1] != "]":
        first = False
        char = pattern[at : at + 1]
        if char == "[" and pattern[at + 1 : at + 2] == ":":
            end = pattern.find("]", at + 2)
            if end < 0:
                return None
            if end > at + 2 and pattern[end - 1] == ":":
                named = _POSIX.get(pattern[at + 2 : end - 1])
                if named is None:
                    return None
                choices.append(f"[{named}]")
                before, at = "", end + 1
                continue
        if char == "-" and before and pattern[at + 1 : at + 2] not in ("", "]"):
            at += 1 + (pattern[at + 1] == "\\")
            char = pattern[at : at + 1]
            if char and before <= char:
                choices.append(f"[{re.escape(before)}-{re.escape(char)}]")
            following = ""
        else:
            at += char == "\\"
            char = following = pattern[at : at + 1]
            choices.append(re.escape(char))
        if not char:
            return None
        before, at = following, at + 1
    either = "|".join(choices)
    return (f"(?!{either})." if negated else f"(?:{either})"), at + 1


def _compiled(tokens: list[str]) -> re.Pattern[str]:
    """A regular expression of one name: what stands between two stars is looked for once, from the
    left, as in `fnmatch`, so that no star goes back on what another one took."""
    pieces: list[str] = [""]
    for number, token in enumerate(tokens):
        if token != _STAR:
            pieces[-1] += token
        elif number == 0 or tokens[number - 1] != _STAR:
            pieces.append("")
    if len(pieces) == 1:
        return re.compile(f"(?s:{pieces[0]})")
    first, *middle, last = pieces
    found = "".join(f"(?=(?P<p{n}>.*?{piece}))(?P=p{n})" for n, piece in enumerate(middle))
    return re.compile(f"(?s:{first}{found}.*{last})")


def _matches(segments: Sequence[re.Pattern[str] | None], names: Sequence[str]) -> bool:
    """Whether the names are those of the pattern; only the last `**` is ever tried further on."""
    at = place = 0
    again: tuple[int, int] | None = None
    while place < len(names):
        segment = segments[at] if at < len(segments) else None
        if at < len(segments) and segment is None:
            again = (at + 1, place)
            at += 1
        elif segment is not None and segment.fullmatch(names[place]):
            at, place = at + 1, place + 1
        elif again is not None:
            again = (again[0], again[1] + 1)
            at, place = again
        else:
            return False
    return all(segment is None for segment in segments[at:])
