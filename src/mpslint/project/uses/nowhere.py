"""Modules of which nothing has to be told, since they run nowhere as they lie there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.project.uses.copied import Copied
from mpslint.project.uses.gone import Gone
from mpslint.project.uses.stale import Stale

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Projects
    from mpslint.project.published.published import Published
    from mpslint.project.uses.leading import Leading
    from mpslint.project.uses.unreached import Unreached


class Nowhere:
    def __init__(
        self,
        projects: Projects,
        modules: Modules,
        published: Published,
        leading: Leading,
        unreached: Unreached,
    ) -> None:
        self._projects = projects
        self._stale = Stale(modules)
        self._gone = Gone(projects, modules)
        self._unreached = unreached
        self._copied = Copied(modules, published, leading, unreached)

    def includes(self, path: str) -> tuple[bool, tuple[str, ...]]:
        """Whether nothing leads to the module at the absolute `path`, be it that it is a copy, or
        it ends at an import; and the files that this rests on."""
        whole = self._projects.searched(path)
        if whole is None or path not in whole.modules:
            return False, ()
        is_gone = self._gone.includes(whole, path)
        asked = self._gone.rests_on(whole)
        if is_gone or self._stale.includes(whole, path):
            return True, (*whole.files, *asked)
        unreached, told = self._unreached.includes(path)
        if unreached or not self._copied.may_include(whole, path):
            return unreached, (*told, *asked)
        return self._copied.includes(whole, path), (*whole.files, *asked)
