"""Who in the other files of a project tries what raises without CUDA, and so learns that there is
none: he calls it, or who calls it, or imports the module that does."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mpslint.semantics.purpose.tried_calls import Learned, learned_by

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Projects
    from mpslint.semantics.elsewhere.elsewhere import Elsewhere

_MOST_PARSED = 24
"""Names that stand in more modules than this are common words, and somebody may learn by them."""
_LINKS = 3
"""So many files hand the error on, each to the next."""


class TriedAround:
    def __init__(self, projects: Projects, modules: Modules, elsewhere: Elsewhere) -> None:
        self._projects = projects
        self._modules = modules
        self._elsewhere = elsewhere

    def learns(
        self, path: str, names: frozenset[str], *, by_import: bool
    ) -> tuple[bool, tuple[str, ...]]:
        """Whether another file learns by an error that these functions of the one at the absolute
        `path` hand on, or by that of its import; and the files that this rests on. Of a project
        whose head is not known the modules of the folder, and of the one above, are asked."""
        whole = self._projects.of(path)
        if whole is not None:
            files, modules = whole.files, list(whole.modules)
        else:
            folder = os.path.dirname(path)
            modules = [*self._modules.beside(path), *self._modules.beside(folder)]
            files = (folder, os.path.dirname(folder), *modules)
        handing, asked = [(path, Learned(False, names, by_import))], {path}
        for _ in range(_LINKS):
            further: list[tuple[str, Learned]] = []
            for source, handed in handing:
                known = self._known_by(source)
                on_import = known if handed.by_import else frozenset()
                for other in self._linked(modules, source, known, handed.names | on_import):
                    asked.add(other)
                    if len(asked) > _MOST_PARSED:
                        return True, files
                    context = self._modules.context(other, self._elsewhere)
                    if context is None:
                        continue
                    found = learned_by(context, handed.names, on_import)
                    if found.by_error:
                        return True, files
                    if found.names != handed.names or found.by_import:
                        new = found.names - handed.names
                        further.append((other, found._replace(names=new)))
            handing = further
        return False, files

    def _known_by(self, path: str) -> frozenset[str]:
        """The names by which others import a file: its own, and that of the package whose it is."""
        folder, name = os.path.split(path.removesuffix(".py"))
        package = os.path.basename(folder)
        if name == "__init__":
            return frozenset({package})
        beside = os.path.join(folder, "__init__.py") in self._modules.beside(path)
        return frozenset({name, package}) if beside else frozenset({name})

    def _linked(
        self, modules: Iterable[str], path: str, known: frozenset[str], names: Iterable[str]
    ) -> list[str]:
        """The modules that import the file at `path` and speak of one of the names."""
        words = [name.encode("utf-8", "replace") for name in names]
        own = {name.encode("utf-8", "replace") for name in known}
        return [
            other
            for other in modules
            if other != path
            and not own.isdisjoint(self._modules.imported_by(other))
            and any(self._modules.has_words(other, frozenset({word})) for word in words)
        ]
