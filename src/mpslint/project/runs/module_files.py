"""The files of the modules that a file of a project imports, by whatever name: from the folders in
which Python looks for them, what is installed, what lazy packages hand on, what texts name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.project.layout.import_texts import apart
from mpslint.project.layout.modules import is_foreign
from mpslint.project.layout.modules_by_text import ModulesByText
from mpslint.semantics.worlds.text_imports import ANY

if TYPE_CHECKING:
    from mpslint.project.compiled.built_extensions import BuiltExtensions
    from mpslint.project.layout.modules import Modules


class _NamedFiles:
    """Those of modules that are written out."""

    def __init__(self, modules: Modules, built: BuiltExtensions) -> None:
        self._modules = modules
        self._built = built

    def find(self, path: str, module: str) -> tuple[str | None, tuple[str, ...]]:
        found, looked = self._modules.find(path, module)
        if found is not None or module.startswith(".") or is_foreign(module):
            return found, looked
        installed, more = self._built.installed(path, module)
        return installed, (*looked, *more)


class ModuleFiles:
    def __init__(self, modules: Modules, built: BuiltExtensions) -> None:
        self._modules = modules
        self._named = _NamedFiles(modules, built)
        self._by_text = ModulesByText(modules, self._named.find)
        self.some_of = self._by_text.some_of

    def source_of(self, path: str, qualified: str) -> tuple[str | None, str]:
        """The file of the module that a name comes from, and what it is called there."""
        module, name = apart(qualified)
        return self.find(path, module)[0], name

    def find(self, path: str, module: str) -> tuple[str | None, tuple[str, ...]]:
        """The file of a module: in the folders from which the file at `path` imports, else in one
        that a setup script of the project installs from, else that which a lazy package has what is
        named from."""
        found, looked = self._named.find(path, module)
        if found is not None or is_foreign(module):
            return found, looked
        lazy, more = self._by_text.lazily(path, module)
        return lazy, (*looked, *more)

    def parts_of(
        self, path: str, module: str, found: str | None
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What Python imports for a module whose file is `found`, its packages first: it does so
        for one that they turn out not to have as well. And the files that were looked for."""
        looked: tuple[str, ...] = ()
        if found is None and not module.startswith("."):
            first = self.find(path, module.partition(".")[0])
            if first[0] is None:  # Nothing of it is the project's.
                return (), first[1]
        while found is None:
            module, dot, _ = module.rpartition(".")
            if not dot or not module.strip("."):
                return (), looked
            found, more = self.find(path, module)
            looked += more
        return (*self._modules.packages_of(path, module, found), found), looked

    def named_by_text(self, path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The modules that one imports by a text, and the files that were looked at, or for."""
        found: dict[str, None] = {}
        files: list[str] = []
        for text in self._by_text.named_in(path):
            if text.endswith(ANY):
                continue  # It would tie all modules of a package to each other.
            other, looked = self.find(path, text)
            files += looked
            if other is not None and other != path:
                found[other] = None
        return tuple(found), tuple(files)
