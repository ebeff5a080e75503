"""Files that end at an import on every machine: they import a module that is gone from the folder
of the project where it would lie, and of which nothing else in the project speaks any more.

A module that a build makes, a command fetches or a reader is told to write is named where that is
said: in a text of any kind, in another file's name, in what git leaves out. So only one counts of
which all that is left is imports. Names that a module lacks say nothing: they may be made.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.facts.priors import matches, understood
from mpslint.folders.gitignore import extended
from mpslint.project.layout.added_folders import WORD, added_folders
from mpslint.project.layout.import_texts import imported_modules, module_name, runs_files
from mpslint.project.layout.modules import is_foreign

if TYPE_CHECKING:
    from collections.abc import Iterable

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
_SHORTEST = 3
"""A shorter name of a file is no sign of what may be made of it."""


class Gone:
    def __init__(self, projects: Projects, modules: Modules) -> None:
        self._projects = projects
        self._modules = modules
        self._hooked: dict[str, bool] = {}
        self._known: dict[tuple[str, str], bool] = {}
        self._asked: dict[str, dict[str, None]] = {}
        """By the head: the texts that are no files of the project, and decide what may be made."""

    def includes(self, whole: Whole, path: str) -> bool:
        """Whether the module of the project at the absolute `path` is one of these."""
        tree = self._modules.tree(path) if path.endswith(".py") else None
        if tree is None:
            return False
        if WORD in self._text(path) and not added_folders(tree, path, [whole.head]):
            return False  # Where it looks is not understood.
        gone = any(self._is_gone(whole, path, module) for module in _imported(tree))
        return gone and not self._is_hooked(whole) and not self._is_imported(whole, path)

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
        more = tuple(os.path.join(whole.head, one) for one in _MORE)
        self._note(whole, more)
        files = (*whole.modules, *whole.others, *more)
        return any(
            not _IMPORT_LINE.match(line)
            for one in self._modules.holding_alone(files, word)
            for line in self._text(one).split(b"\n")
            if word in line
        )

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

    def _is_hooked(self, whole: Whole) -> bool:
        """Whether the project changes how Python finds modules."""
        if whole.head not in self._hooked:
            texts = map(self._text, whole.modules)
            self._hooked[whole.head] = any(word in text for text in texts for word in _HOOKS)
        return self._hooked[whole.head]

    def _is_imported(self, whole: Whole, path: str) -> bool:
        """Whether another file may import this one, by whatever name, or runs files: it may deal
        with the error."""
        stem = module_name(path)
        word = stem.encode("utf-8", "replace")
        return path.endswith("__init__.py") or any(
            runs_files(self._text(other))
            or any(stem in module.split(".") for module in imported_modules(self._text(other)))
            for other in self._modules.holding_alone((*whole.modules, *whole.others), word)
            if other != path
        )

    def _text(self, path: str) -> bytes:
        return self._modules.text(path) or b""


def _imported(tree: ast.Module) -> Iterator[str]:
    """The modules that a file imports by their full names, come what may."""
    for item in tree.body:
        if isinstance(item, ast.Import):
            yield from (alias.name for alias in item.names)
        elif isinstance(item, ast.ImportFrom) and item.module and not item.level:
            yield item.module


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
