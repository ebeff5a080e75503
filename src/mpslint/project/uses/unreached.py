"""Modules of a program's package that nothing of the program leads to: no file imports them, or
only such as nobody imports either, no text names them, and started by themselves they do nothing.

What such a module defines runs on no machine. One that lies in no package is another matter: it is
new, or somebody starts what uses it by hand; and what others install they may import as well.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from mpslint.project.layout.import_texts import imported_modules, module_name, runs_files
from mpslint.project.layout.whole import PROSE
from mpslint.project.layout.word_holders import stands_alone
from mpslint.project.runs.left_behind import programs
from mpslint.project.uses.lacking import Lacking
from mpslint.project.uses.stale import Stale
from mpslint.project.uses.taken_by_text import is_found_from_inside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Projects, Whole
    from mpslint.project.published.published import Published
    from mpslint.project.uses.offered import Offered
    from mpslint.project.uses.taken_by_text import TakenByText

_INIT = "__init__.py"
_AT_HEADS = frozenset({"hubconf.py", "setup.py"})
_ENTRIES = frozenset({_INIT, "__main__.py", "conftest.py"}) | _AT_HEADS
"""Modules that Python or a tool starts by their names."""
_TEST = re.compile(r"test_|.*_test\.py")  # Fact: pytest's names of files that it collects.
_SOME_NAME = ""
"""No module has it: whoever may take this one from a text may take any."""


class Unreached:
    def __init__(
        self,
        projects: Projects,
        modules: Modules,
        published: Published,
        offered: Offered,
        taken: TakenByText,
    ) -> None:
        self._projects = projects
        self._modules = modules
        self._published = published
        self._offered = offered
        self._taken = taken
        self._stale = Stale(modules)
        self._lacking = Lacking(projects, modules)
        self._known: dict[str, tuple[str, ...] | None] = {}
        self._of_use: dict[str, bool] = {}
        self._inits: dict[str, frozenset[str]] = {}
        """By the head of the project."""
        self._running: dict[str, bool] = {}

    def includes(self, path: str) -> tuple[bool, tuple[str, ...]]:
        """Whether the module at the absolute `path` is one of these, and the files that this
        rests on."""
        whole = self._projects.searched(path)
        if whole is None or path not in whole.modules:
            return False, ()
        if not self._may_be(whole, path):
            return False, (*whole.folders, *self._rests_on(whole, path))
        published, told = self._published.includes(whole, path)
        if published and not self._offered.is_shown(whole):
            return False, told
        leading = self._leading_to(whole, path)
        if leading is not None:
            return False, leading
        if published and not self._is_among_reached(whole, path):
            return False, (*told, *whole.files)
        return True, whole.files

    def runs_nowhere(self, path: str) -> tuple[bool, tuple[str, ...]]:
        """Whether the module at the absolute `path` is one of these, or ends at an import."""
        whole = self._projects.searched(path)
        if whole is None or path not in whole.modules:
            return False, ()
        if self._stale.includes(whole, path) or self._lacking.includes(whole, path):
            return True, whole.files
        return self.includes(path)

    def _is_among_reached(self, whole: Whole, path: str) -> bool:
        """Whether something leads to another module beside one. Who installs a package may import
        any: where the project itself has a use for those that it offers, one that it has none for
        was left behind."""
        folder = os.path.dirname(path)
        return any(
            os.path.dirname(other) == folder
            and other != path
            and self._may_be(whole, other)
            and self._leading_to(whole, other) is not None
            for other in whole.modules
        )

    def _may_be(self, whole: Whole, path: str) -> bool:
        """Whether a module runs only where something leads to it. A package does, but for the
        outermost one, whose modules lie there for whoever comes by, unless the project itself has
        a use for them."""
        folder, name = os.path.split(path)
        if name == _INIT:
            outermost = _outermost(self._inits_of(whole), folder)
            return folder != outermost and self._is_of_use(whole, outermost)
        if _TEST.match(name) or os.path.join(folder, _INIT) not in self._inits_of(whole):
            return False
        # What builds a project, or is taken from its head, lies in no package.
        return name not in _ENTRIES or (name in _AT_HEADS and folder != whole.head)

    def _rests_on(self, whole: Whole, path: str) -> tuple[str, ...]:
        """The files that tell that a module runs without anything which leads to it."""
        return whole.files if os.path.basename(path) == _INIT else ()

    def _inits_of(self, whole: Whole) -> frozenset[str]:
        if whole.head not in self._inits:
            inits = (path for path in whole.modules if os.path.basename(path) == _INIT)
            self._inits[whole.head] = frozenset(inits)
        return self._inits[whole.head]

    def _is_of_use(self, whole: Whole, package: str) -> bool:
        """Whether a module that lies in no such package imports something of it."""
        if package not in self._of_use:
            word = os.path.basename(package).encode("utf-8", "replace")
            inside = package + os.sep
            self._of_use[package] = any(
                not other.startswith(inside)
                and word in (data := self._modules.text(other) or b"")
                and self._imports_from(other, data, inside)
                for other in whole.modules
            )
        return self._of_use[package]

    def _leading_to(self, whole: Whole, path: str) -> tuple[str, ...] | None:
        """Files that show that something leads to a module; None: nothing does. Modules that lead
        to each other alone are come to by nobody."""
        if path in self._known:
            return self._known[path]
        seen: dict[str, str] = {path: ""}
        todo = [path]
        while todo:
            one = todo.pop()
            if self._runs_by_itself(one):
                return self._reached(seen, one, (one,))
            for other, is_come_to in self._leading(whole, one):
                known = () if is_come_to else self._known.get(other, ())
                if known is None or other in seen:
                    continue
                if known or is_come_to:
                    return self._reached(seen, one, (other, *known))
                if not self._may_be(whole, other):
                    return self._reached(seen, one, (other, *self._rests_on(whole, other)))
                seen[other] = one
                todo.append(other)
        self._known.update(dict.fromkeys(seen))
        return None

    def _reached(
        self, seen: dict[str, str], path: str, files: tuple[str, ...]
    ) -> tuple[str, ...] | None:
        """Keeps that these files lead to a module, and on from there to that which was asked of."""
        while path:
            self._known[path] = files
            files = (path, *files)
            path = seen[path]
        return files[1:]

    def _runs_by_itself(self, path: str) -> bool:
        if os.path.basename(path) == _INIT:
            return False
        tree = self._modules.tree(path)
        return tree is None or bool(programs(tree))

    def _leading(self, whole: Whole, path: str) -> Iterator[tuple[str, bool]]:
        """The files that lead to a module, and whether they do so whoever comes to them: a text
        that names its file, or what imports others by theirs."""
        folder, own = os.path.split(path)
        is_package, stem = own == _INIT, module_name(path)
        holder = os.path.dirname(folder) if is_package else folder
        named = stem.encode("utf-8", "replace")
        word = re.escape(named)
        as_file = re.compile(rb"[./]%s\b|\b%s\.py\b" % (word, word))
        around = re.escape(os.path.basename(holder).encode("utf-8", "replace"))
        in_text = re.compile(
            rb"[\"'](?:[\w./-]*\b%s[./]%s\b|[\w./-]*\b%s\.py\b)" % (around, word, word)
        )
        package = os.path.join(holder, _INIT)
        inside = folder + os.sep
        holding = frozenset(self._modules.holding_alone(whole.modules, named))
        for other in whole.modules:
            if other == path:
                continue
            data = self._modules.text(other) or b""
            if other in holding:
                if in_text.search(data):
                    yield other, True
                if (
                    other == package
                    or self._imports(other, data, stem, path)
                    or (is_package and self._imports_from(other, data, inside))
                ):
                    yield other, False
            elif is_package and other.startswith(inside) and self._runs_by_itself(other):
                # `from .parts import x` in a program that is started as a part of the package
                if self._imports_from(other, data, inside):
                    yield other, False
        for other in whole.modules:
            if other == path:
                continue
            if self._taken.takes(other, path, _SOME_NAME):
                yield other, False
            if self._runs_files(other):
                yield other, True
        for other in self._modules.holding(whole.others, named):
            data = self._modules.text(other) or b""
            is_prose = other.endswith(PROSE)
            if as_file.search(data) is not None if is_prose else stands_alone(named, data):
                yield other, True

    def _runs_files(self, other: str) -> bool:
        if other not in self._running:
            self._running[other] = runs_files(self._modules.text(other) or b"")
        return self._running[other]

    def _imports_from(self, other: str, data: bytes, inside: str) -> bool:
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
            if found is None and path.endswith(ending):
                return True
        return False


def _outermost(inits: frozenset[str], folder: str) -> str:
    """The outermost package around a package."""
    while os.path.join(os.path.dirname(folder), _INIT) in inits:
        folder = os.path.dirname(folder)
    return folder
