"""Modules of which nothing has to be told, since they run nowhere as they lie there."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mpslint.project.layout.import_texts import module_name
from mpslint.project.uses.copied import Copied
from mpslint.project.uses.leading import How
from mpslint.project.uses.stale import Stale
from mpslint.project.uses.unreached import ENTRIES, TEST

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Projects, Whole
    from mpslint.project.published.published import Published
    from mpslint.project.uses.importable import Importable
    from mpslint.project.uses.leading import Leading
    from mpslint.project.uses.unreached import Unreached


class Nowhere:
    def __init__(
        self,
        projects: Projects,
        modules: Modules,
        published: Published,
        leading: Leading,
        importable: Importable,
        unreached: Unreached,
    ) -> None:
        self._projects = projects
        self._stale = Stale(modules)
        self._importable = importable
        self._unreached = unreached
        self._copied = Copied(modules, published, leading, unreached)
        self._modules, self._published, self._leading = modules, published, leading

    def why(self, path: str) -> tuple[str, tuple[str, ...]]:
        """Why nothing leads to the module at the absolute `path`, be it that it is a copy, or it
        ends at an import; empty: something does. And the files that this rests on."""
        whole = self._projects.searched(path)
        if whole is None or path not in whole.modules:
            return "", ()
        end, lacking = self._importable.lacking(whole, path)
        asked = self._importable.rests_on(whole, path)
        if lacking:
            who = "it" if end == path else os.path.relpath(end, whole.head) + ", which it needs,"
            return f"{who} imports what is not there: {lacking}", (*whole.files, *asked)
        if self._stale.includes(whole, path):
            return "what it imports has moved out of the folders that it adds", (
                *whole.files,
                *asked,
            )
        if self._serves_none(whole, path, {path}):
            return "only files that cannot be imported need it", (*whole.files, *asked)
        unreached, told = self._unreached.includes(path)
        if unreached or not self._copied.may_include(whole, path):
            return "nothing of the project leads to it" if unreached else "", (*told, *asked)
        copied = self._copied.includes(whole, path)
        why = "it is a copy, and what leads here leads to the other one" if copied else ""
        return why, (*whole.files, *asked)

    def _serves_none(self, whole: Whole, path: str, seen: set[str]) -> bool:
        """Whether a module does nothing by itself, and all that lead to it are files that end at an
        import, of which there are some, or such as serve these alone."""
        name = os.path.basename(path)
        if name in ENTRIES or TEST.match(name):
            return False
        named = module_name(path).encode("utf-8", "replace")
        ending = [
            other
            for other in self._modules.holding_alone(whole.modules, named)
            if other != path and self._importable.is_lost(whole, other)
        ]
        if not ending or self._leading.runs_by_itself(path):
            return False
        if self._published.includes(whole, path)[0]:
            return False
        for other, _ in self._leading.to(whole, path):
            if other in ending or other in seen:
                continue
            seen.add(other)
            if not other.endswith(".py") or not self._serves_none(whole, other, seen):
                return False
        return any(how is How.IMPORTED for other, how in self._leading.to(whole, path))
