"""What leads to a module of a project: other modules that import it, or may take it by a text, and
the texts that name its file."""

from __future__ import annotations

import enum
import os
import re
from typing import TYPE_CHECKING

from mpslint.project.layout.added_folders import WORD, puts_first_what_is_given
from mpslint.project.layout.import_texts import imported_modules, module_name, runs_files
from mpslint.project.layout.whole import speaks_freely
from mpslint.project.layout.word_holders import stands_alone
from mpslint.project.runs.left_behind import programs
from mpslint.project.uses.open_texts import OpenTexts
from mpslint.project.uses.taken_by_text import is_found_from_inside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Whole
    from mpslint.project.uses.taken_by_text import TakenByText

INIT = "__init__.py"
_SOME_NAME = ""
"""No module has it: whoever may take this one from a text may take any."""


class How(enum.Enum):
    IMPORTED = "a statement of a module"
    TAKEN = "a text that a module imports by, which may be any"
    FITTING = "a text that a module imports by, with which its place goes"
    NAMED = "a text of a module that names the file"
    RUN = "a module that runs files by their places"
    TOLD = "a file that is no module"
    SPELLED = "a text of such a file that leaves a part open"


COMING = frozenset({How.NAMED, How.RUN, How.TOLD, How.SPELLED})
"""Ways that lead to a module whoever comes to the file that has them."""


class Leading:
    def __init__(self, modules: Modules, taken: TakenByText) -> None:
        self._modules = modules
        self._taken = taken
        self.open = OpenTexts(modules)
        self._running: dict[str, bool] = {}
        self._anywhere: dict[str, bool] = {}
        self._known: dict[str, tuple[list[tuple[str, How]], Iterator[tuple[str, How]]]] = {}
        """What was found so far, and what finds the rest: many ask for the first ones alone."""

    def to(self, whole: Whole, path: str) -> Iterator[tuple[str, How]]:
        """The files that lead to a module, each with how it does so."""
        if path not in self._known:
            self._known[path] = [], self._to(whole, path)
        found, rest = self._known[path]
        at = 0
        while True:
            while at < len(found):  # Others may have gone on in between.
                yield found[at]
                at += 1
            more = next(rest, None)
            if more is None:
                return
            found.append(more)

    def _to(self, whole: Whole, path: str) -> Iterator[tuple[str, How]]:
        folder, own = os.path.split(path)
        is_package, stem = own == INIT, module_name(path)
        holder = os.path.dirname(folder) if is_package else folder
        named = stem.encode("utf-8", "replace")
        word = re.escape(named)
        as_file = re.compile(
            rb"[./]%s\b|\b%s\.py\b|(?:\b(?:import|from)|[ \t]-m|::)[ \t]+[\w.]*\b%s\b"
            % (word, word, word)
        )
        above = os.path.basename(holder).encode("utf-8", "replace")
        around = re.escape(above)
        # Most texts hold none of these, and the expression is tried at each quote of a text.
        spelled = (above + b"." + named, above + b"/" + named, named + b".py")
        in_text = re.compile(
            rb"[\"'](?:[\w./-]*\b%s[./]%s\b|[\w./-]*\b%s\.py\b)" % (around, word, word)
        )
        package = os.path.join(holder, INIT)
        inside = folder + os.sep
        holding = frozenset(self._modules.holding_alone(whole.modules, named))
        for other in whole.modules:
            if other == path:
                continue
            data = self._modules.text(other) or b""
            if other in holding:
                if any(text in data for text in spelled) and in_text.search(data):
                    yield other, How.NAMED
                if (
                    other == package
                    or self._imports(other, data, stem, path)
                    or (is_package and self.imports_from(other, data, inside))
                ):
                    yield other, How.IMPORTED
            elif is_package and other.startswith(inside) and self.runs_by_itself(other):
                # `from .parts import x` in a program that is started as a part of the package
                if self.imports_from(other, data, inside):
                    yield other, How.IMPORTED
        for other in whole.modules:
            if other == path:
                continue
            if self._taken.takes(other, path, _SOME_NAME):
                yield other, How.TAKEN
            if self.open.lead(other, path):
                yield other, How.FITTING
            if self._runs_files(other):
                yield other, How.RUN
        for other in self._modules.holding(whole.others, named):
            data = self._modules.text(other) or b""
            is_free = speaks_freely(other)
            if as_file.search(data) is not None if is_free else stands_alone(named, data):
                yield other, How.TOLD
        for other in whole.others:
            if self.open.lead(other, path):
                yield other, How.SPELLED

    def may_take(self, other: str, path: str, name: str, *, named: bool) -> bool:
        """Whether the module at `other` may have the one at `path` by a text, and take from it
        what has a `name`, which stands there as well (`named`)."""
        if self._taken.takes(other, path, name) or self.open.lead(other, path):
            return True
        return named and self._runs_files(other)

    def runs_by_itself(self, path: str) -> bool:
        """Whether a module does something where it is started, or may, since it cannot be read."""
        if os.path.basename(path) == INIT:
            return False
        tree = self._modules.tree(path)
        return tree is None or bool(programs(tree))

    def _runs_files(self, other: str) -> bool:
        if other not in self._running:
            self._running[other] = runs_files(self._modules.text(other) or b"")
        return self._running[other]

    def imports_from(self, other: str, data: bytes, inside: str) -> bool:
        """Whether a module imports another that lies in a folder, or the package that this is."""
        folder = inside.rstrip(os.sep)
        name = os.path.basename(folder)
        for module in imported_modules(data):
            body = module.lstrip(".")
            if name not in body.split(".") and not (body != module and other.startswith(inside)):
                continue
            holder = module[: len(module) - len(body)] + body.rpartition(".")[0]
            found = self._modules.find(other, module)[0] or self._modules.find(other, holder)[0]
            if found is not None and found.startswith(inside):
                return True
            # One that is not found here may be found once a program has put a folder on the path.
            around = body.partition(name)[0] + name
            if found is None and folder.endswith(os.sep + around.replace(".", os.sep)):
                return True
        return False

    def _imports(self, other: str, data: bytes, stem: str, path: str) -> bool:
        for module in imported_modules(data):
            if module.rpartition(".")[2] != stem:
                continue
            found = self._modules.find(other, module)[0]
            # One that is not found here may be found once a program has put a folder on the path.
            if found == path or is_found_from_inside(other, module, path):
                return True
            ending = os.sep + module.replace(".", os.sep) + ".py"
            if path.endswith(ending) and (found is None or self._looks_anywhere(other, data)):
                return True
        return False

    def _looks_anywhere(self, other: str, data: bytes) -> bool:
        """Whether a module has Python look first in a folder that it is given."""
        if other not in self._anywhere:
            tree = self._modules.tree(other) if WORD in data else None
            self._anywhere[other] = tree is not None and puts_first_what_is_given(tree)
        return self._anywhere[other]
