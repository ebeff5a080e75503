"""Modules that are copies of another one of the project which is the one in use, while nothing
leads to the copy: what is told of the original stands there once already.

A file that somebody writes anew is no copy of another. Who copies a module in order to change it
is told of the original, and of the copy as soon as something imports it. Of two copies that nobody
comes to both are told, unless one of them is the other, byte by byte, further down.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from mpslint.project.layout.added_folders import WORD as ADDING
from mpslint.project.layout.import_texts import imported_modules, module_name
from mpslint.project.layout.word_holders import stands_alone
from mpslint.project.uses.alike import Alike
from mpslint.project.uses.leading import INIT, How
from mpslint.project.uses.taken_by_text import looks_through_folders
from mpslint.project.uses.unreached import ENTRIES, TEST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Whole
    from mpslint.project.published.published import Published
    from mpslint.project.uses.leading import Leading
    from mpslint.project.uses.open_texts import OpenText
    from mpslint.project.uses.unreached import Unreached

_BEFORE = re.compile(rb"(?<![\w-])(?:[\w-]*[./]+)*\Z")
"""The folders, or packages, that stand before the name of a module."""
_LONGEST = 200


class Copied:
    def __init__(
        self, modules: Modules, published: Published, leading: Leading, unreached: Unreached
    ) -> None:
        self._modules = modules
        self._published = published
        self._leading = leading
        self._unreached = unreached
        self._alike = Alike(modules)
        self._come_to: dict[str, bool] = {}

    def may_include(self, whole: Whole, path: str) -> bool:
        """Whether a module is a copy of another one: by itself that says nothing of its use."""
        name = os.path.basename(path)
        if name in ENTRIES or TEST.match(name) or self._published.includes(whole, path)[0]:
            return False
        return bool(self._originals(whole, path))

    def includes(self, whole: Whole, path: str) -> bool:
        """Whether the module of the project at the absolute `path` is one of these."""
        if not self.may_include(whole, path) or self._is_come_to(whole, path):
            return False
        same = self._alike.same(whole, path)
        return any(
            self._is_come_to(whole, other)
            or (
                other in same
                and _depth(other) < _depth(path)
                and not self._unreached.includes(other)[0]
            )
            for other in self._originals(whole, path)
        )

    def _originals(self, whole: Whole, path: str) -> tuple[str, ...]:
        """Those that a module may be a copy of. A program that differs is started for what it
        does otherwise."""
        near = self._alike.near(whole, path)
        same = tuple(
            one for one in self._alike.same(whole, path) if self._does_as(whole, one, path)
        )
        # To parse a module takes longer than to look at all texts.
        return same if not near or self._leading.runs_by_itself(path) else near

    def _does_as(self, whole: Whole, other: str, path: str) -> bool:
        """Whether a module that reads the same imports the same, or a copy of that: one that has
        modules of its own beside it does something else with them."""
        for module in imported_modules(self._modules.text(path) or b""):
            own = self._modules.find(path, module)[0]
            its = self._modules.find(other, module)[0] if own is not None else None
            if own is not None and own != its:
                alike = (*self._alike.near(whole, own), *self._alike.same(whole, own))
                if its not in alike:
                    return False
        return True

    def _is_come_to(self, whole: Whole, path: str) -> bool:
        """Whether something else than copies that nobody comes to leads to a module."""
        if path in self._come_to:
            return self._come_to[path]
        seen: dict[str, str | None] = {path: None}
        """Each with the one that it leads to."""
        todo = [path]
        while todo:
            one = todo.pop()
            if self._is_started(whole, one):
                return self._is_reached(seen, one)
            for other, how in self._leading.to(whole, one):
                if other in seen or not self._is_meant(whole, other, how, one):
                    continue
                if self._come_to.get(other) or not self._may_be_left(whole, other):
                    return self._is_reached(seen, one)
                if other not in self._come_to:
                    seen[other] = one
                    todo.append(other)
        self._come_to.update(dict.fromkeys(seen, False))
        return False

    def _is_reached(self, leading: dict[str, str | None], path: str) -> bool:
        """Keeps that somebody comes to a module, and to all that it leads to."""
        one: str | None = path
        while one is not None:
            self._come_to[one] = True
            one = leading[one]
        return True

    def _is_started(self, whole: Whole, path: str) -> bool:
        name = os.path.basename(path)
        if not (self._leading.runs_by_itself(path) or TEST.match(name)):
            return False
        return all(_depth(other) >= _depth(path) for other in self._alike.same(whole, path))

    def _may_be_left(self, whole: Whole, other: str) -> bool:
        """Whether what leads to a module may be left over as well: somebody has to come to it."""
        if not other.endswith(".py") or os.path.basename(other) in ENTRIES - {INIT}:
            return False
        if os.path.basename(other) == INIT or self._originals(whole, other):
            return True
        return self._unreached.includes(other)[0]

    def _is_meant(self, whole: Whole, other: str, how: How, path: str) -> bool:
        """Whether what leads to a module leads there, and not to its original of the same name."""
        data = self._modules.text(other) or b""
        if how is How.IMPORTED:
            return True
        if how is How.TAKEN and self._modules.tree(other) is None and not _speaks_of(data, path):
            return False
        namesakes = [
            one
            for one in {*self._alike.near(whole, path), *self._alike.same(whole, path)}
            if module_name(one) == module_name(path)
        ]
        if how in (How.FITTING, How.SPELLED):
            return any(
                start < 0
                or all(
                    self._starts_as_far_out(other, text, start, path, one)
                    or _is_spoken_of(whole, other, data, path, one)
                    for one in namesakes
                )
                for text, start in self._leading.open.starts(other, path).items()
            )
        if how is How.TAKEN:
            found = self._modules.find(other, module_name(path))[0]
            if found == path or (found not in namesakes and ADDING not in data):
                return True
            looks = found not in namesakes and looks_through_folders(data)
            return looks or all(
                _is_spoken_of(whole, other, data, path, one)
                or (found not in namesakes and not _is_spoken_of(whole, other, data, one, path))
                for one in namesakes
            )
        if how is How.RUN:
            return looks_through_folders(data) or all(
                _is_spoken_of(whole, other, data, path, one)
                or not _is_spoken_of(whole, other, data, one, path)
                for one in namesakes
            )
        if not namesakes:
            return True
        named = (_goes_on(whole, path, place) for place in _places(data, module_name(path)))
        return any(named) and all(_is_spoken_of(whole, other, data, path, one) for one in namesakes)

    def _starts_as_far_out(
        self, other: str, text: OpenText, start: int, path: str, namesake: str
    ) -> bool:
        """Whether a text means two modules alike, since it is its open part that tells them apart:
        what it begins with lies in one folder."""
        at = self._leading.open.starts(other, namesake).get(text)
        return at is None or (at == start and path[:at] == namesake[:at])


def _is_spoken_of(whole: Whole, other: str, data: bytes, path: str, namesake: str) -> bool:
    """Whether a text that has the name of two modules speaks of the first one: of the folder, going
    up from that, by which the two can be told apart, or it lies there too. One that lies in none is
    what a plain name means."""
    folder, beside = os.path.dirname(path), os.path.dirname(namesake)
    while folder != whole.head and os.path.basename(folder) == os.path.basename(beside):
        folder, beside = os.path.dirname(folder), os.path.dirname(beside)
    if folder == whole.head or other.startswith(folder + os.sep):
        return True
    return stands_alone(os.path.basename(folder).encode(errors="replace"), data)


def _places(data: bytes, name: str) -> Iterator[list[str]]:
    """The folders that a text names before each use of a name."""
    word = name.encode(errors="replace")
    for match in re.finditer(rb"%s\b" % re.escape(word), data):
        before = _BEFORE.search(data, max(0, match.start() - _LONGEST), match.start())
        if before is not None:
            place = before[0].decode(errors="replace").rpartition("..")[2]
            yield [one for one in re.split(r"[./]", place) if one]


def _goes_on(whole: Whole, path: str, place: list[str]) -> bool:
    """Whether a module lies in these folders, each in that before it, as far as its project goes:
    what that lies in itself has another name elsewhere."""
    inner = path.removesuffix(os.sep + INIT)
    folders = os.path.relpath(inner, whole.head).split(os.sep)[:-1]
    most = min(len(place), len(folders))
    return folders[len(folders) - most :] == place[len(place) - most :]


def _folder(path: str) -> bytes:
    return os.path.basename(os.path.dirname(path)).encode(errors="replace")


def _speaks_of(data: bytes, path: str) -> bool:
    words = (module_name(path).encode(errors="replace"), _folder(path))
    return any(stands_alone(word, data) for word in words)


def _depth(path: str) -> int:
    return path.count(os.sep)
