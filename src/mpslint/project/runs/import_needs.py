"""What the import of a module leads to, by the texts alone: other modules, compiled kernels, and
operators that the project has for CUDA alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.facts.priors import package_worlds
from mpslint.project.compiled.operator_libraries import operators_named
from mpslint.project.layout.import_texts import imported_modules
from mpslint.project.layout.modules import is_foreign
from mpslint.project.runs.left_behind import MOST_MODULES
from mpslint.records import NamedTuple
from mpslint.semantics.worlds.machines import ALL

if TYPE_CHECKING:
    from mpslint.project.compiled.built_extensions import BuiltExtensions
    from mpslint.project.compiled.operator_libraries import OperatorLibraries
    from mpslint.project.layout.modules import Modules
    from mpslint.project.runs.module_files import ModuleFiles

_WIDE = 128
"""An import that leads to more modules is not followed: an answer rests on each of them."""
_BUILDS = (b"cpp_extension",)


class Needs(NamedTuple):
    """What the import of a module leads to."""

    modules: dict[str, tuple[str, ...]]
    """The modules that it leads to, itself among them, each with those that it imports."""
    kernels: bool
    """Whether one of them names compiled kernels."""
    files: int
    """The set of the files that were looked at, or for, as `FileSets` numbers them."""
    is_cut: bool = False
    """Whether it leads to more modules, and is not followed."""
    operators: bool = False
    """Whether one of them calls operators that the project has for CUDA alone, or goes on without
    an extension of that kind. Such a module can be imported everywhere, and who calls it may not
    come back."""
    by_text: tuple[str, ...] = ()
    """Those of the modules that one imports itself which it names by a text."""


class ImportNeeds:
    def __init__(
        self,
        modules: Modules,
        built: BuiltExtensions,
        files: ModuleFiles,
        operators: OperatorLibraries,
    ) -> None:
        self._modules = modules
        self._sets = modules.file_sets
        self._built = built
        self._files = files
        self._find, self._parts_of = files.find, files.parts_of
        self._operators = operators
        self._needs: dict[str, Needs] = {}
        self._edges: dict[str, Needs] = {}

    def take_over(self, known: ImportNeeds, changed: frozenset[str]) -> None:
        """Takes over what another one knows that has other texts for the `changed` files alone."""
        self._sets = self._modules.file_sets
        touched = self._sets.of(changed)
        self._edges = {
            path: needs
            for path, needs in known._edges.items()
            if path not in changed and not needs.files & touched
        }
        self._needs = {
            path: needs
            for path, needs in known._needs.items()
            # One that was not followed rests on modules that it does not name.
            if path not in changed and not needs.files & touched and not needs.is_cut
        }

    def knows(self, path: str) -> bool:
        """Whether somebody has asked what the import of a module leads to."""
        return path in self._needs

    def led_to(self, path: str, text: str) -> tuple[list[str], int]:
        """The modules that a file of this text imports, and they in turn, nearest first, not all
        where they are many; and the set of the files that this rests on."""
        found: dict[str, None] = {}
        files = 0
        todo: list[str] = []
        for module in imported_modules(text.encode("utf-8", "replace")):
            if not is_foreign(module):
                imported, looked = self._find(path, module)
                files |= self._sets.of(looked)
                todo += [imported] if imported is not None else []
        while todo and len(found) < MOST_MODULES:
            current = todo.pop(0)
            if current not in found and current != path:
                found[current] = None
                edges = self.edges_of(current)
                files |= edges.files
                todo += edges.modules[current]
        return list(found), files | self._sets.of(found)

    def leads_to(self, start: str) -> Needs:
        """What the import of the module at the absolute path `start` leads to."""
        known = self._needs.get(start)
        if known is None:
            known = self._needs[start] = self._follow(start)
        return known

    def _follow(self, start: str) -> Needs:
        modules: dict[str, tuple[str, ...]] = {}
        kernels = operators = False
        files = 0
        todo = [start]
        named: list[str] = []
        while todo or named:
            # What is named by a text comes last, and is left out where there is more of it.
            is_named = not todo
            if (path := named.pop(0) if is_named else todo.pop(0)) in modules:
                continue
            edges = self.edges_of(path)
            if len(modules) == _WIDE:
                if is_named:
                    break
                return Needs({start: ()}, False, self.edges_of(start).files, True)
            ((_, imported),) = edges.modules.items()
            modules[path] = imported
            kernels = kernels or edges.kernels
            operators = operators or edges.operators
            files |= edges.files
            named += imported
            todo += [] if is_named else [one for one in imported if one not in edges.by_text]
        return Needs(modules, kernels, files, operators=operators)

    def edges_of(self, path: str) -> Needs:
        """What a module itself imports and names."""
        if path not in self._edges:
            text = self._modules.text(path) or b""
            kernels = any(word in text for word in _BUILDS)
            operators = False
            files: set[str] = set()
            imported: dict[str, None] = {}
            for module in imported_modules(text):
                if package_worlds(module) is not None:
                    kernels = True
                    continue
                if is_foreign(module):
                    continue
                found, looked = self._find(path, module)
                files.update(looked)
                if found is None:
                    kernel, more = self._built.is_for_cuda(path, module)
                    files.update(more)
                    kernels = kernels or kernel
                    # Whoever goes on without it has nothing to call.
                    operators = operators or (kernel and b"except" in text)
                parts, more = self._parts_of(path, module, found)
                files.update(more)
                imported.update(dict.fromkeys(parts))
            for operator in operators_named(text):
                worlds, looked = self._operators.worlds(path, operator)
                files.update(looked)
                operators = operators or worlds != ALL
            imported.pop(path, None)
            named, more = self._files.named_by_text(path)
            files.update(more)
            by_text = tuple(one for one in named if one not in imported)
            led = {path: (*imported, *by_text)}
            found_files = self._sets.of(files)
            kernels = kernels or operators
            self._edges[path] = Needs(led, kernels, found_files, False, operators, by_text)
        return self._edges[path]
