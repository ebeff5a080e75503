"""Modules of a program's package that nothing of the program leads to: no file imports them, or
only such as nobody imports either, no text names them, and started by themselves they do nothing.

What such a module defines runs on no machine. One that lies in no package is another matter: it is
new, or somebody starts what uses it by hand; and what others install they may import as well.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from mpslint.project.uses.leading import COMING, INIT

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Projects, Whole
    from mpslint.project.published.published import Published
    from mpslint.project.uses.leading import Leading
    from mpslint.project.uses.offered import Offered

_AT_HEADS = frozenset({"hubconf.py", "setup.py"})
ENTRIES = frozenset({INIT, "__main__.py", "conftest.py"}) | _AT_HEADS
"""Modules that Python or a tool starts by their names."""
TEST = re.compile(r"test_|.*_test\.py")  # Fact: pytest's names of files that it collects.


class Unreached:
    def __init__(
        self,
        projects: Projects,
        modules: Modules,
        published: Published,
        offered: Offered,
        leading: Leading,
    ) -> None:
        self._projects = projects
        self._modules = modules
        self._published = published
        self._offered = offered
        self._leading = leading
        self._known: dict[str, tuple[str, ...] | None] = {}
        self._of_use: dict[str, bool] = {}
        self._inits: dict[str, frozenset[str]] = {}
        """By the head of the project."""

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
        if name == INIT:
            outermost = _outermost(self._inits_of(whole), folder)
            return folder != outermost and self._is_of_use(whole, outermost)
        if TEST.match(name) or os.path.join(folder, INIT) not in self._inits_of(whole):
            return False
        # What builds a project, or is taken from its head, lies in no package.
        return name not in ENTRIES or (name in _AT_HEADS and folder != whole.head)

    def _rests_on(self, whole: Whole, path: str) -> tuple[str, ...]:
        """The files that tell that a module runs without anything which leads to it."""
        return whole.files if os.path.basename(path) == INIT else ()

    def _inits_of(self, whole: Whole) -> frozenset[str]:
        if whole.head not in self._inits:
            inits = (path for path in whole.modules if os.path.basename(path) == INIT)
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
                and self._leading.imports_from(other, data, inside)
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
            if self._leading.runs_by_itself(one):
                return self._reached(seen, one, (one,))
            for other, how in self._leading.to(whole, one):
                is_come_to = how in COMING
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


def _outermost(inits: frozenset[str], folder: str) -> str:
    """The outermost package around a package."""
    while os.path.join(os.path.dirname(folder), INIT) in inits:
        folder = os.path.dirname(folder)
    return folder
