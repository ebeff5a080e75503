"""Modules that are gone from the folder of the project where they would lie, and of which nothing
else in the project speaks any more: who imports one ends there on every machine.

A module that a build makes, a command fetches or a reader is told to write is named where that is
said: in a text of any kind, in another file's name, in what git leaves out. So only one counts of
which all that is left is imports.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from mpslint.facts.priors import matches, understood
from mpslint.folders.gitignore import extended
from mpslint.project.layout.import_texts import imported_modules
from mpslint.project.layout.modules import is_foreign

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Projects, Whole

_MAKING = (
    *(b"__getattr__", b"__path__", b"extend_path", b"sys.modules", b"import_module"),
    *(b"__import__", b"lazy", b"globals("),
)
"""By these a package has modules that lie nowhere."""
_HOOKS = (b"sys.meta_path", b"path_hooks", b"sys.modules[", b"site.addsitedir", b"grpc_tools")
_IMPORT_LINE = re.compile(rb"[\s\"'>#]*(?:from|import)\s")
"""A line that imports, be it of a notebook, of a text that quotes one or left as a comment."""
_MORE = (
    *(".gitmodules", "Makefile", "Dockerfile", "MANIFEST.in", "justfile", "noxfile.py"),
    *("Snakefile", os.path.join(".git", "info", "exclude")),
)
# Fact: commands of shells, and of what builds containers, by which files come to be.
_TOLD = re.compile(
    rb"(?:^|[\s`$;&|(])(?:git|wget|curl|cp|mv|ln|tar|unzip|rsync|scp|mkdir|touch|COPY|ADD|make|protoc"
    rb"|gdown|svn)[ \t]"
)
_OF_CODE = (".py", ".json", ".ipynb")
"""Kinds of files that have a word for much else: here one counts that may be a place."""
_OF_DATA = (".md", ".rst", ".txt", ".yaml", ".yml", ".json", ".png", ".jpg", ".gif", ".svg", ".sh")
_SHORTEST = 3
"""A shorter name of a file is no sign of what may be made of it."""


class Gone:
    def __init__(self, projects: Projects, modules: Modules) -> None:
        self._projects = projects
        self._modules = modules
        self._hooked: dict[str, bool] = {}
        self._known: dict[tuple[str, str], bool] = {}
        self._stems: dict[str, frozenset[bytes]] = {}
        """By the head: the names of its files that are no modules."""
        self._asked: dict[str, dict[str, None]] = {}
        """By the head: the texts that are no files of the project, and decide what may be made."""

    def names(self, whole: Whole, path: str, module: str) -> bool:
        """Whether the dotted name of a module, as the file at the absolute `path` has it, stands
        for one of these."""
        body = module.lstrip(".")
        dots = len(module) - len(body)
        parts = [part for part in body.split(".") if part]
        if dots:
            folder = os.path.dirname(path)
            for _ in range(dots - 1):
                folder = os.path.dirname(folder)
            place = self._missing_below(whole, folder, parts)
            return place is not None and not self._may_be_made(whole, place)
        return self._is_gone(whole, path, module)

    def _missing_below(self, whole: Whole, folder: str, parts: list[str]) -> str | None:
        """The same of a name that goes out from a package around the file itself."""
        if os.path.join(folder, "__init__.py") not in whole.modules:
            return None
        return self._missing(whole, folder, parts) or None

    def rests_on(self, whole: Whole) -> tuple[str, ...]:
        """The files beside the project's own on which it rests what was said of it so far."""
        return tuple(self._asked.get(whole.head, ()))

    def _note(self, whole: Whole, paths: Iterable[str]) -> None:
        for path in paths:
            self._modules.sign(path)
            self._asked.setdefault(whole.head, {})[path] = None

    def _is_gone(self, whole: Whole, path: str, module: str) -> bool:
        """Whether a module lies in none of the project's folders that have the name it begins
        with, of which there are some."""
        first, *parts = module.split(".")
        if not parts or is_foreign(module) or understood(first):
            return False
        if self._modules.find(path, module)[0] is not None:
            return False
        key = whole.head, module
        if key not in self._known:
            named = (one for one in whole.folders if os.path.basename(one) == first)
            tops = [
                top
                for top in named
                if any(one.startswith(os.path.join(top, "")) for one in whole.modules)
            ]
            missing = [self._missing(whole, top, parts) for top in tops]
            self._known[key] = (
                bool(missing)
                and None not in missing
                and all(self._is_own(whole, top) for top in tops)
                and not self._is_installed(whole, first)
                and all(not self._may_be_made(whole, place) for place in missing if place)
            )
        return self._known[key]

    def _missing(self, whole: Whole, folder: str, parts: list[str]) -> str | None:
        """The place of the first part that is missing below a folder; None: none may be."""
        for part in parts:
            init = self._text(os.path.join(folder, "__init__.py"))
            if any(word in init for word in _MAKING):
                return None
            inner = os.path.join(folder, part)
            if _lies_there(inner):
                if inner in whole.folders:
                    folder = inner
                    continue
                return None
            return inner
        return None

    def _is_own(self, whole: Whole, top: str) -> bool:
        """Whether a folder is a package, or one from which the project is seen to import: of other
        folders somebody else may have a part."""
        if os.path.join(top, "__init__.py") in whole.modules:
            return True
        first = f"{os.path.basename(top)}."
        return any(
            (self._modules.find(other, module)[0] or "").startswith(os.path.join(top, ""))
            for other in self._modules.holding(whole.modules, first.encode("utf-8", "replace"))
            for module in imported_modules(self._text(other))
            if module.startswith(first)
        )

    def _is_installed(self, whole: Whole, name: str) -> bool:
        """Whether a text says that a package of this name is to be installed."""
        wanted = self._projects.building(os.path.join(whole.head, "__init__.py")).wanted
        self._note(whole, wanted)
        word = re.escape(name).replace("_", "[-_.]").encode("utf-8", "replace")
        listed = re.compile(
            rb"^[ \t\"'-]*%s[ \t]*(?:[=<>~!\[@;,\"']|$)|[\"']%s[ \t]*[=<>~!\[@;]" % (word, word),
            re.M | re.I,
        )
        command = re.compile(
            rb"\b(?:(?:pip[\d.]*|uv|conda|mamba|poetry|pdm)\b[^\n]*\b(?:install|add)|clone)\b"
            rb"[^\n]*(?<![\w.-])%s(?![\w-])" % word,
            re.I,
        )
        return any(listed.search(self._text(one)) for one in wanted) or any(
            command.search(self._text(one)) for one in whole.others
        )

    def _may_be_made(self, whole: Whole, place: str) -> bool:
        """Whether anything but imports speaks of what is missing at a place, or git leaves it out,
        or something lies beside it of which it may be made."""
        folder, name = os.path.split(place)
        if name.startswith("_") or matches("kernel-names", name) or self._is_left_out(whole, place):
            return True
        stems = (one.split(".")[0] for one in _entries(folder) if not one.endswith(".py"))
        if any(len(one) >= _SHORTEST and name.startswith(one) for one in stems):
            return True
        word = name.encode("utf-8", "replace")
        if self._is_source(whole, word):
            return True
        more = tuple(os.path.join(whole.head, one) for one in _MORE)
        self._note(whole, more)
        speaks = _speaking_of(os.path.basename(folder).encode("utf-8", "replace"), word)
        return any(
            not _IMPORT_LINE.match(line) and speaks(line, is_code=one.endswith(_OF_CODE))
            for one in self._modules.holding_alone((*whole.modules, *whole.others, *more), word)
            for line in self._text(one).split(b"\n")
            if word in line
        )

    def _is_source(self, whole: Whole, word: bytes) -> bool:
        """Whether a file of another kind has the name from which a module may be built."""
        if whole.head not in self._stems:
            self._stems[whole.head] = frozenset(
                one.split(".")[0].encode("utf-8", "replace")
                for folder in whole.folders
                for one in _entries(folder)
                if not one.endswith((".py", *_OF_DATA)) and "." in one[1:]
            )
        return word in self._stems[whole.head]

    def _is_left_out(self, whole: Whole, place: str) -> bool:
        """Whether git would leave it out, as what a program writes or downloads."""
        self._note(whole, [os.path.join(whole.head, ".gitignore")])
        ignores, folder = extended(None, whole.head, _nothing), whole.head
        for part in os.path.relpath(place, whole.head).split(os.sep):
            inner = os.path.join(folder, part)
            if ignores is not None and (
                ignores.ignored(inner, True) or ignores.ignored(f"{inner}.py", False)
            ):
                return True
            folder = inner
            self._note(whole, [os.path.join(folder, ".gitignore")])
            ignores = extended(ignores, folder, _nothing)
        return False

    def is_hooked(self, whole: Whole) -> bool:
        """Whether the project changes how Python finds modules."""
        if whole.head not in self._hooked:
            texts = map(self._text, whole.modules)
            self._hooked[whole.head] = any(word in text for text in texts for word in _HOOKS)
        return self._hooked[whole.head]

    def _text(self, path: str) -> bytes:
        return self._modules.text(path) or b""


def _speaking_of(holder: bytes, word: bytes) -> Callable[..., bool]:
    """What tells of a line whether it may speak of a module, or a folder, that lies in one called
    `holder`, and not only use the word: by a path, beside that folder's name, as the name of a
    file, or where a text tells what to fetch or to write."""
    inner, outer = re.escape(word), re.escape(holder)
    a_file = re.compile(rb"(?:(?<![\w/\\.])|\b%s[/\\.])%s\.py\b" % (outer, inner))
    alone, beside = re.compile(rb"\b%s\b" % inner), re.compile(rb"\b%s\b" % outer)
    marked = re.compile(rb"[`\"']%s/?[`\"']" % inner)

    def speaks(line: bytes, *, is_code: bool) -> bool:
        if alone.search(line) is None:
            return False
        if beside.search(line) is not None or a_file.search(line) is not None:
            return True
        return not is_code and (marked.search(line) is not None or _TOLD.search(line) is not None)

    return speaks


def _lies_there(place: str) -> bool:
    """Whether a folder has something of this name, whatever its suffix and its case."""
    folder, name = os.path.split(place)
    return any(one.split(".")[0].lower() == name.lower() for one in _entries(folder))


def _entries(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _nothing(_: str) -> None:
    """What cannot be read leaves nothing out."""
