"""Modules of a project run in all worlds, as an import would run them, and what they need in turn.

A module that cannot do without compiled CUDA kernels is one that no Mac can import, and so is each
module that imports it: that is followed through the project's imports, some modules deep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from mpslint.basics.groups import groups
from mpslint.errors import MpslintError
from mpslint.facts.priors import package_names, package_worlds
from mpslint.project.compiled.kernel_imports import imported_by, insisted_imports
from mpslint.project.compiled.operator_libraries import (
    OPERATORS,
    OperatorLibraries,
    operators_named,
)
from mpslint.project.layout.definition_texts import may_lack
from mpslint.project.layout.import_texts import imported_modules, used_in_main
from mpslint.project.layout.modules import is_foreign
from mpslint.project.layout.unconditional_names import UnconditionalNames
from mpslint.project.runs.import_needs import ImportNeeds
from mpslint.project.runs.imports_behind import ImportsBehind
from mpslint.project.runs.module_files import ModuleFiles
from mpslint.semantics.worlds.foreign import foreign, foreign_worlds
from mpslint.semantics.worlds.interpreter import Interpreter
from mpslint.semantics.worlds.leading_functions import leading_functions
from mpslint.semantics.worlds.machines import ALL, MACS, NVIDIA
from mpslint.semantics.worlds.stand_ins import as_extension
from mpslint.semantics.worlds.text_imports import ANY
from mpslint.semantics.worlds.values import CONST, FUNCTION, NAME, NOTHING, Atom, Cases

if TYPE_CHECKING:
    from mpslint.project.compiled.built_extensions import BuiltExtensions
    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Projects
    from mpslint.semantics.worlds.values import Value

_SETTLED = 64
"""So many run modules: a package's helpers, which most of its files ask; some megabytes."""
_LASTING = 48
"""So many of them outlast the file that asked for them."""
_OPEN = 6
"""So many modules deep it is followed what a call needs: each is a run that is kept."""
_LISTED = 64
"""So many sets of files are kept as such."""
_BY_TEXT = (b"import_module(", b"__import__(", b"importorskip(")


class ImportedRuns:
    def __init__(self, modules: Modules, built: BuiltExtensions, projects: Projects) -> None:
        self._modules = modules
        self._sets = modules.file_sets
        self._built = built
        self._operators = OperatorLibraries(modules, projects, built)
        self._files = ModuleFiles(modules, built)
        self._find, self._parts_of = self._files.find, self._files.parts_of
        self._needs = ImportNeeds(modules, built, self._files, self._operators)
        self._leads_to, self._edges_of = self._needs.leads_to, self._needs.edges_of
        self.led_to = self._needs.led_to
        self._unconditional = UnconditionalNames(modules)
        self._settled: dict[str, Interpreter | None] = {}
        self.let_go = 0
        """So many of these were taken apart."""
        self._imported: dict[str, int] = {}
        """By path: the worlds in which a module can be imported that leads to kernels."""
        self._plain: dict[str, int] = {}
        """The same of those that lead to none: a run that has been let go of is not made anew."""
        self._used: dict[tuple[str, str], int] = {}
        """By path and name: the worlds in which a module that leads to kernels can use the name."""
        self._listed: dict[int, frozenset[str]] = {}
        """By the number of a set its files."""
        self._open: list[str] = []
        """The modules that are being run for one that imports them."""

    def take_over(self, known: ImportedRuns, changed: frozenset[str]) -> None:
        """Takes over what another one knows that has other texts for the `changed` files alone;
        what it keeps of runs stays with it."""
        self._sets = self._modules.file_sets
        self._needs.take_over(known._needs, changed)
        for mine, others in ((self._imported, known._imported), (self._plain, known._plain)):
            mine.update({path: told for path, told in others.items() if self._needs.knows(path)})
        used = {key: worlds for key, worlds in known._used.items() if self._needs.knows(key[0])}
        self._used.update(used)

    def imports_on(self, path: str, module: str) -> tuple[int, int]:
        """The worlds in which the file at the absolute `path` can import a module of its project,
        and the set of the files that this rests on. Its packages are imported before it."""
        if module.endswith(ANY):
            return self._some_on(path, module)
        if module.startswith(OPERATORS):
            worlds, looked = self._operators.worlds(path, module)
            return worlds, self._sets.of(looked)
        found, looked = self._find(path, module)
        files = self._sets.of(looked)
        if found is None:
            kernel, more = self._built.is_for_cuda(path, module)
            files |= self._sets.of(more)
            if kernel:
                return NVIDIA, files
        if found == path:
            return ALL, files
        worlds = ALL
        if not module.strip(".") and not path.endswith(".py"):
            return worlds, files  # No module: a notebook is started where it lies.
        parts, looked = self._parts_of(path, module, found)
        files |= self._sets.of(looked)
        for part in parts:
            needs = self._leads_to(part)
            files |= needs.files
            if needs.kernels or self._modules.names_kernels(part):
                worlds &= self._worlds(part)
                if found is None and worlds & MACS and part == parts[-1]:
                    worlds &= self._having(part, module.rpartition(".")[2])
        return worlds, files

    def _some_on(self, path: str, module: str) -> tuple[int, int]:
        """The same of any of the modules that begin so."""
        names, looked = self._files.some_of(path, module)
        worlds, files = 0, self._sets.of(looked)
        for name in names:
            more, rests = self.imports_on(path, name)
            worlds |= more
            files |= rests
        return worlds or ALL, files

    def _having(self, path: str, name: str) -> int:
        """The worlds in which a module that names kernels has `name`: it may define it only where
        they are. Where it lets anything in, nothing is known."""
        text = self._modules.text(path) or b""
        if b"import *" in text or b"__getattr__" in text or name.encode() not in text:
            return ALL
        if name in self._unconditional.of(path):
            return ALL
        interpreter = self.settled(path)
        value = interpreter.frame.env.get(name) if interpreter is not None else None
        if value.__class__ is not Cases:
            return ALL
        return sum(worlds for worlds, atom in value.cases if atom.kind != NOTHING)

    def uses_on(self, path: str, name: str) -> tuple[int, frozenset[str]]:
        """The worlds in which the module at `path` can use `name`, as far as its imports say, and
        what this rests on. A program that uses it below its test of `__name__` alone needs what
        it imports there."""
        needs = self._leads_to(path)
        if not needs.kernels and not self._modules.names_kernels(path):
            return ALL, self._files_of(needs.files)
        key = path, name
        if key not in self._used:
            worlds = self._worlds(path)
            if worlds & MACS and used_in_main(self._modules.text(path) or b"", name):
                interpreter = self._run(path, as_program=True)
                worlds &= _importable(interpreter)
                if interpreter is not None:
                    interpreter.release()
            self._used[key] = worlds
        return self._used[key], self._files_of(needs.files)

    def _files_of(self, files: int) -> frozenset[str]:
        """The files of a set: many a module of a project leads to the same ones."""
        if files not in self._listed:
            if len(self._listed) >= _LISTED:
                self._listed.clear()
            self._listed[files] = frozenset(self._sets.paths(files))
        return self._listed[files]

    def imports_of(self, path: str) -> tuple[str, ...]:
        """The files of the project that the module at `path` imports itself."""
        return self._edges_of(path).modules[path]

    def find(self, path: str, module: str) -> str | None:
        """The file of a module as the file at the absolute `path` names it."""
        return self._find(path, module)[0]

    def kernels_of(self, path: str) -> tuple[list[str], list[str]]:
        """What a module itself imports that only CUDA has: packages of others, and extensions that
        the project builds."""
        names = list(imported_modules(self._modules.text(path) or b""))
        missing = [name for name in names if self._find(path, name)[0] is None]
        built = [name for name in missing if self._built.is_for_cuda(path, name)[0]]
        built += [
            operator.rpartition(".")[0]
            for operator in operators_named(self._modules.text(path) or b"")
            if self._operators.worlds(path, operator)[0] != ALL
        ]
        taken = (*built, *(f"{name}." for name in built))
        packages = [
            name
            for name in missing
            if name not in built
            and package_worlds(name) is not None
            and not any(name.startswith(one) for one in taken)
        ]
        return packages, built

    def imported_in_turn(
        self, path: str, module: str, known: Mapping[str, int] | None = None
    ) -> int:
        """The same for a module that is itself run because it is imported."""
        if module.endswith(ANY):
            names = self._files.some_of(path, module)[0]
            some = [self.imported_in_turn(path, name, known) for name in names]
            return reduce(or_, some, 0) or ALL
        if module.startswith(OPERATORS):
            return self._operators.worlds(path, module)[0]
        found, _ = self._find(path, module)
        if found is None and self._built.is_for_cuda(path, module)[0]:
            return NVIDIA
        leading: Mapping[str, tuple[str, ...]] | None = None
        if known is None:
            leading, known = self._leads_to(path).modules, self._imported
        worlds = ALL
        for part in self._parts_of(path, module, found)[0]:
            if part != path and (leading is None or part in leading):
                worlds &= known.get(part, ALL)
        return worlds

    def importable(self, paths: Iterable[str]) -> dict[str, int]:
        """The worlds in which each of these modules can be imported, however many they lead to:
        for one who judges a whole project, and rests on all of it anyway. Those that lead to no
        kernels can be imported everywhere, and are left out."""
        graph = {path: self._with_packages(path) for path in paths}
        known: dict[str, int] = {}
        for group in groups(graph):
            needing = [
                path
                for path in group
                if self.names_kernels(path) or any(other in known for other in graph[path])
            ]
            if needing:
                self._settle(
                    group,
                    graph,
                    known,
                    ImportsBehind(self, group[0], known),
                    needing,
                )
                for path in group:
                    if known[path] & MACS and self._insists(path, known):
                        known[path] &= ~MACS
                    if known[path] == ALL:
                        del known[path]
        return known

    def names_kernels(self, path: str) -> bool:
        """Whether a module itself imports what only CUDA has, or may by a text."""
        if self._edges_of(path).kernels:
            return True
        text = self._modules.text(path) or b""
        return any(way in text for way in _BY_TEXT) and self._modules.names_kernels(path)

    def _at_once(self, path: str, known: Mapping[str, int]) -> int:
        """The worlds that what a module imports at its top leaves, whatever else it does: most
        modules that cannot be imported are known by that, without a run."""
        tree = self._modules.tree(path)
        worlds = ALL
        for statement in tree.body if tree is not None else ():
            for module in imported_by(statement):
                if package_worlds(module) is not None:
                    worlds &= NVIDIA
                elif not is_foreign(module):
                    worlds &= self.imported_in_turn(path, module, known)
        return worlds

    def _insists(self, path: str, known: Mapping[str, int]) -> bool:
        """Whether a module goes on without kernels in some cases alone, and has nothing instead of
        them there: a setup script that imports it, say."""
        data = self._modules.text(path) or b""
        if b"except" not in data or b"raise" not in data:
            return False
        try:
            tree = self._modules.trees.read(path, data)[1]
        except (MpslintError, RecursionError):
            return False

        def imports_on(module: str) -> int:
            if package_worlds(module) is not None:
                return NVIDIA
            return self.imported_in_turn(path, module, known)

        return any(not imports_on(module) & MACS for module in insisted_imports(tree))

    def _with_packages(self, path: str) -> tuple[str, ...]:
        """The modules that one imports, with the packages that Python imports before them."""
        found: dict[str, None] = {}
        for module in imported_modules(self._modules.text(path) or b""):
            if not is_foreign(module) and package_worlds(module) is None:
                other = self._find(path, module)[0]
                found.update(dict.fromkeys(self._parts_of(path, module, other)[0]))
        return tuple(other for other in found if other != path)

    def settled(self, path: str) -> Interpreter | None:
        """The module at `path`, run in all worlds as an import would; None: it cannot be read."""
        if path in self._settled:
            known = self._settled[path] = self._settled.pop(path)  # used last, dropped last
            return known
        self._solve(path)
        while len(self._settled) >= _SETTLED:
            self._let_go_of_one()
        self._settled[path] = self._run(path)
        return self._settled[path]

    def trim(self) -> None:
        """Lets go of runs that nobody has asked for lately. Between files alone: who is being
        checked may hold functions of them."""
        while len(self._settled) > _LASTING:
            self._let_go_of_one()

    def _let_go_of_one(self) -> None:
        gone = self._settled.pop(next(iter(self._settled)))
        self.let_go += 1
        if gone is not None:
            gone.release()

    def release(self) -> None:
        """Takes apart the runs that are kept."""
        for known in self._settled.values():
            if known is not None:
                known.release()
        self._settled.clear()

    def may_lack(self, path: str, name: str) -> tuple[bool, int]:
        """Whether a module may have `name` on some machines alone, by its text: it imports what the
        others lack, and goes on without. And the set of the files that this rests on."""
        data = self._modules.text(path) or b""
        if b"import" not in data:
            return False, 0
        needs = self._leads_to(path) if b"except" in data else None
        kernels = needs is not None and needs.kernels
        may = may_lack(data, name, package_names(), imports_kernels=kernels)
        return may, needs.files if needs is not None else 0

    def may_end(self, path: str) -> tuple[bool, int]:
        """Whether a call of what a module has may need operators that only CUDA has; and the set
        of the files that this rests on."""
        needs = self._leads_to(path)
        return needs.operators, needs.files

    def may_need_operators(self, path: str, qualified: str) -> bool:
        # A module by its own name, or what another one has under this name.
        found = self._find(path, qualified)[0] or self._files.source_of(path, qualified)[0]
        return found is not None and found != path and self._leads_to(found).operators

    def held_behind(self, path: str, qualified: str) -> Value | None:
        """What a name holds that the module at `path`, itself run because it is imported, takes
        from another one: followed only where operators are behind it, without which some machines
        do not come back."""
        found, name = self._files.source_of(path, qualified)
        if found is None or found == path or not self._leads_to(found).operators:
            return None
        if found in self._open or len(self._open) >= _OPEN:
            return None  # It is being run.
        self._open.append(found)
        interpreter = self.settled(found)
        self._open.pop()
        value = interpreter.frame.env.get(name) if interpreter is not None else None
        if value.__class__ is Atom and value.kind == NAME:
            return self.held_behind(found, str(value.v))
        return foreign(as_extension(value), ()) if value is not None else None

    def as_used(self, path: str, value: Value | None) -> Value | None:
        """What a name of the module at `path` holds for those who use it."""
        known = value is not None and self._leads_to(path).operators
        return as_extension(value) if known and value is not None else value

    def never_comes_back(self, path: str, qualified: str) -> bool:
        """Whether this is a function that the module at `path` imports, and no Mac comes back from
        it, since it needs what only CUDA has whatever it is given."""
        value = self.held_behind(path, qualified)
        if value.__class__ is not Atom or value.kind != FUNCTION or value.v.home is None:
            return False
        _, ends = value.v.home.summary(value.v)
        return bool(value.v.own) and not ends & MACS

    def _needing(self, path: str) -> Callable[[str], bool] | None:
        """Whether what the module at `path` imports may need such operators; None: nothing."""
        if not self._leads_to(path).operators:
            return None
        return lambda name: self.may_need_operators(path, name)

    def rests_on(self, path: str) -> int:
        """The set of the files that the run of a module rests on."""
        return self._leads_to(path).files

    def _worlds(self, path: str) -> int:
        if not self._leads_to(path).kernels:
            if path not in self._plain:
                self._plain[path] = _importable(self.settled(path))
            return self._plain[path]
        self._solve(path)
        return self._imported[path]

    def _solve(self, start: str) -> None:
        """Finds where each module that `start` leads to can be imported: what one of them needs,
        those need that import it. Modules that import each other are looked at together, until none
        of them needs more; they are the same group whoever asks."""
        needs = self._leads_to(start)
        if not needs.kernels or start in self._imported:
            return
        leading = {
            path: imported
            for path, imported in needs.modules.items()
            if path not in self._imported and self._leads_to(path).kernels
        }
        for group in groups(leading):
            self._settle(group, leading, self._imported, ImportsBehind(self, group[0]))

    def _settle(
        self,
        group: list[str],
        imported: Mapping[str, tuple[str, ...]],
        known: dict[str, int],
        project: ImportsBehind,
        needing: Iterable[str] | None = None,
    ) -> None:
        """Notes in `known` the worlds in which each module of a group can be imported, once this is
        known of all others that they import. A module is run anew when one that it imports turned
        out to need more; worlds are only taken away, so that this ends.
        `needing`: those that may need something by themselves, where others need not be run."""
        known.update(dict.fromkeys(group, ALL))
        todo = list(group if needing is None else needing)
        while todo:
            path = todo.pop(0)
            at_once = self._at_once(path, known) if needing is not None else ALL
            if at_once & MACS:
                interpreter = self._run(path, project=project.of(path))
                worlds = _importable(interpreter) & known[path]
                if interpreter is not None:
                    interpreter.release()
            else:
                worlds = at_once & known[path]
            if worlds and worlds != known[path]:
                known[path] = worlds
                waiting = {path, *todo}
                todo += [
                    user
                    for user in group
                    if path in imported[user] and user not in waiting and known[user] & ~NVIDIA
                ]

    def _run(
        self, path: str, *, as_program: bool = False, project: ImportsBehind | None = None
    ) -> Interpreter | None:
        data = self._modules.text(path)
        if data is None:
            return None
        try:
            tree = self._modules.trees.read(path, data)[1]
            interpreter = Interpreter(
                tree,
                data,
                {},
                project=project or ImportsBehind(self, path),
                leading=leading_functions(tree, data, self._needing(path)),
            )
            if as_program:
                interpreter.frame.env["__name__"] = Atom(CONST, "__main__")
            interpreter.settle()
        except (MpslintError, RecursionError):
            return None
        return interpreter


def _importable(interpreter: Interpreter | None) -> int:
    """The worlds that come to the end of a module. One that ends on every machine is none that
    anybody imports: nothing is known."""
    return foreign_worlds(interpreter.frame.mask if interpreter is not None else ALL) or ALL
