"""Modules of a project run in all worlds, as an import would run them, and what they need in turn.

A module that cannot do without compiled CUDA kernels is one that no Mac can import, and so is each
module that imports it: that is followed through the project's imports, some modules deep.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from mpslint.errors import MpslintError
from mpslint.facts.priors import package_worlds
from mpslint.left_behind import MOST_MODULES
from mpslint.modules import MAIN, is_foreign
from mpslint.semantics.worlds.foreign import foreign_worlds
from mpslint.semantics.worlds.interpreter import Interpreter
from mpslint.semantics.worlds.machines import ALL, MACS, NVIDIA
from mpslint.semantics.worlds.values import CONST, Atom

if TYPE_CHECKING:
    from mpslint.built_extensions import BuiltExtensions
    from mpslint.modules import Modules
    from mpslint.semantics.worlds.handed import Handed
    from mpslint.semantics.worlds.state import Class
    from mpslint.semantics.worlds.values import Value

_SETTLED = 64
"""So many run modules: a package's helpers, which most of its files ask; some megabytes."""
_LASTING = 48
"""So many of them outlast the file that asked for them."""
_WIDE = 64
"""An import that leads to more modules is not followed: an answer rests on each of them."""
_AGAIN = 4
"""So often a module is run anew because one that it imports in a circle turned out to need more."""
_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+(?P<module>[.\w]+)[ \t]+import[ \t]+(?P<names>\([^)]*\)|[^\n#;]*)"
    rb"|import[ \t]+(?P<plain>[\w., \t]+))",
    re.M,
)
_BUILDS = (b"cpp_extension",)


class _Needs(NamedTuple):
    """What the import of a module leads to."""

    modules: dict[str, tuple[str, ...]]
    """The modules that it leads to, itself among them, each with those that it imports."""
    kernels: bool
    """Whether one of them names compiled kernels."""
    files: frozenset[str]
    """The files that were looked at, or for."""
    is_cut: bool = False
    """Whether it leads to more modules, and is not followed."""


class ImportedRuns:
    def __init__(self, modules: Modules, built: BuiltExtensions) -> None:
        self._modules = modules
        self._built = built
        self._settled: dict[str, Interpreter | None] = {}
        self._imported: dict[str, int] = {}
        """By path: the worlds in which a module can be imported that leads to kernels."""
        self._plain: dict[str, int] = {}
        """The same of those that lead to none: a run that has been let go of is not made anew."""
        self._needs: dict[str, _Needs] = {}
        self._edges: dict[str, _Needs] = {}
        self._used: dict[tuple[str, str], int] = {}
        """By path and name: the worlds in which a module that leads to kernels can use the name."""

    def take_over(self, known: ImportedRuns, changed: frozenset[str]) -> None:
        """Takes over what another one knows that has other texts for the `changed` files alone;
        what it keeps of runs stays with it."""
        self._edges = {
            path: needs for path, needs in known._edges.items() if _is_apart(path, needs, changed)
        }
        self._needs = {
            path: needs
            for path, needs in known._needs.items()
            # One that was not followed rests on modules that it does not name.
            if _is_apart(path, needs, changed) and not needs.is_cut
        }
        for mine, others in ((self._imported, known._imported), (self._plain, known._plain)):
            mine.update({path: told for path, told in others.items() if path in self._needs})
        used = {key: worlds for key, worlds in known._used.items() if key[0] in self._needs}
        self._used.update(used)

    def imports_on(self, path: str, module: str) -> tuple[int, frozenset[str]]:
        """The worlds in which the file at the absolute `path` can import a module of its project,
        and the files that this rests on. Its packages are imported before it."""
        found, looked = self._modules.find(path, module)
        if found is None:
            kernel, more = self._built.is_for_cuda(path, module)
            return (NVIDIA if kernel else ALL), frozenset((*looked, *more))
        if found == path:
            return ALL, frozenset(looked)
        worlds, files = ALL, frozenset(looked)
        if not module.strip(".") and not path.endswith(".py"):
            return worlds, files  # No module: a notebook is started where it lies.
        for part in (*self._modules.packages_of(path, module, found), found):
            needs = self._leads_to(part)
            files |= needs.files
            if needs.kernels or self._modules.names_kernels(part):
                worlds &= self._worlds(part)
        return worlds, files

    def uses_on(self, path: str, name: str) -> tuple[int, frozenset[str]]:
        """The worlds in which the module at `path` can use `name`, as far as its imports say, and
        what this rests on. A program that uses it below its test of `__name__` alone needs what
        it imports there."""
        needs = self._leads_to(path)
        if not needs.kernels and not self._modules.names_kernels(path):
            return ALL, needs.files
        key = path, name
        if key not in self._used:
            worlds = self._worlds(path)
            if worlds & MACS and _used_in_main(self._modules.text(path) or b"", name):
                interpreter = self._run(path, as_program=True)
                worlds &= _importable(interpreter)
                if interpreter is not None:
                    interpreter.release()
            self._used[key] = worlds
        return self._used[key], needs.files

    def imports_of(self, path: str) -> tuple[str, ...]:
        """The files of the project that the module at `path` imports itself."""
        return self._edges_of(path).modules[path]

    def imported_in_turn(self, path: str, module: str) -> int:
        """The same for a module that is itself run because it is imported."""
        found, _ = self._modules.find(path, module)
        if found is None:
            return NVIDIA if self._built.is_for_cuda(path, module)[0] else ALL
        if found not in self._leads_to(path).modules:
            return ALL
        return self._imported.get(found, ALL)

    def settled(self, path: str) -> Interpreter | None:
        """The module at `path`, run in all worlds as an import would; None: it cannot be read."""
        if path in self._settled:
            known = self._settled[path] = self._settled.pop(path)  # used last, dropped last
            return known
        self._solve(path)
        while len(self._settled) >= _SETTLED:
            gone = self._settled.pop(next(iter(self._settled)))
            if gone is not None:
                gone.release()
        self._settled[path] = self._run(path)
        return self._settled[path]

    def trim(self) -> None:
        """Lets go of runs that nobody has asked for lately. Between files alone: who is being
        checked may hold functions of them."""
        while len(self._settled) > _LASTING:
            gone = self._settled.pop(next(iter(self._settled)))
            if gone is not None:
                gone.release()

    def release(self) -> None:
        """Takes apart the runs that are kept."""
        for known in self._settled.values():
            if known is not None:
                known.release()
        self._settled.clear()

    def rests_on(self, path: str) -> frozenset[str]:
        """The files that the run of a module rests on."""
        return self._leads_to(path).files

    def led_to(self, path: str, text: str) -> tuple[list[str], tuple[str, ...]]:
        """The modules that a file of this text imports, and they in turn, nearest first, not all
        where they are many; and the files that this rests on."""
        found: dict[str, None] = {}
        files: set[str] = set()
        todo: list[str] = []
        for module in dict.fromkeys(imported_modules(text.encode("utf-8", "replace"))):
            if not is_foreign(module):
                imported, looked = self._modules.find(path, module)
                files.update(looked)
                todo += [imported] if imported is not None else []
        while todo and len(found) < MOST_MODULES:
            current = todo.pop(0)
            if current not in found and current != path:
                found[current] = None
                edges = self._edges_of(current)
                files |= edges.files
                todo += edges.modules[current]
        return list(found), tuple(files.union(found))

    def _worlds(self, path: str) -> int:
        if not self._leads_to(path).kernels:
            if path not in self._plain:
                self._plain[path] = _importable(self.settled(path))
            return self._plain[path]
        self._solve(path)
        return self._imported[path]

    def _solve(self, start: str) -> None:
        """Finds where each module that `start` leads to can be imported: what one of them needs,
        those need that import it, until nothing changes."""
        needs = self._leads_to(start)
        if not needs.kernels or start in self._imported:
            return
        users: dict[str, list[str]] = {path: [] for path in needs.modules}
        for path, imported in needs.modules.items():
            for other in imported:
                users[other].append(path)
        new = [
            path
            for path in reversed(needs.modules)
            if path not in self._imported and self._leads_to(path).kernels
        ]
        self._imported.update(dict.fromkeys(new, ALL))
        runs = dict.fromkeys(new, 0)
        todo = list(new)
        while todo:
            path = todo.pop(0)
            runs[path] += 1
            if runs[path] > _AGAIN:
                continue
            interpreter = self._run(path)
            worlds = _importable(interpreter)
            if interpreter is not None:
                interpreter.release()
            if worlds != self._imported[path]:
                self._imported[path] = worlds
                todo += [user for user in users[path] if user in runs and user not in todo]

    def _run(self, path: str, *, as_program: bool = False) -> Interpreter | None:
        data = self._modules.text(path)
        if data is None:
            return None
        try:
            tree = self._modules.trees.read(path, data)[1]
            interpreter = Interpreter(tree, data, {}, project=_Behind(self, path))
            if as_program:
                interpreter.frame.env["__name__"] = Atom(CONST, "__main__")
            interpreter.settle()
        except (MpslintError, RecursionError):
            return None
        return interpreter

    # what an import leads to, by the text alone

    def _leads_to(self, start: str) -> _Needs:
        known = self._needs.get(start)
        if known is None:
            known = self._needs[start] = self._follow(start)
        return known

    def _follow(self, start: str) -> _Needs:
        modules: dict[str, tuple[str, ...]] = {}
        kernels = False
        files: set[str] = set()
        todo = [start]
        while todo:
            path = todo.pop(0)
            if path in modules:
                continue
            edges = self._edges_of(path)
            if len(modules) == _WIDE:
                return _Needs({start: ()}, False, self._edges_of(start).files, True)
            ((_, imported),) = edges.modules.items()
            modules[path] = imported
            kernels = kernels or edges.kernels
            files |= edges.files
            todo += imported
        return _Needs(modules, kernels, frozenset(files))

    def _edges_of(self, path: str) -> _Needs:
        """What a module itself imports and names."""
        if path not in self._edges:
            text = self._modules.text(path) or b""
            kernels = any(word in text for word in _BUILDS)
            files: set[str] = set()
            imported: dict[str, None] = {}
            for module in dict.fromkeys(imported_modules(text)):
                if package_worlds(module) is not None:
                    kernels = True
                    continue
                if is_foreign(module):
                    continue
                found, looked = self._modules.find(path, module)
                files.update(looked)
                if found is None:
                    kernel, more = self._built.is_for_cuda(path, module)
                    files.update(more)
                    kernels = kernels or kernel
                elif found != path:
                    imported[found] = None
            self._edges[path] = _Needs({path: tuple(imported)}, kernels, frozenset(files))
        return self._edges[path]


class _Behind:
    """Implements `worlds.core.Project` for a module that is run because it is imported: what its
    own imports need, and nothing else of other files."""

    def __init__(self, runs: ImportedRuns, path: str) -> None:
        self._runs = runs
        self._path = path

    def value(self, qualified: str) -> Value | None:
        return None

    def may_hold(self, qualified: str) -> bool:
        return False

    def keeps(self, qualified: str) -> bool:
        return False

    def base(self, qualified: str) -> Class | None:
        return None

    def imports_on(self, module: str) -> int:
        return self._runs.imported_in_turn(self._path, module)

    def entered(self, name: str) -> int:
        return ALL

    def given(self, name: str, kept: frozenset[str], is_asked: bool) -> list[Handed] | None:
        return None


def _is_apart(path: str, needs: _Needs, changed: frozenset[str]) -> bool:
    """Whether what is known of a module rests on none of these files."""
    return path not in changed and changed.isdisjoint(needs.files)


def _importable(interpreter: Interpreter | None) -> int:
    """The worlds that come to the end of a module. One that ends on every machine is none that
    anybody imports: nothing is known."""
    return foreign_worlds(interpreter.frame.mask if interpreter is not None else ALL) or ALL


def _used_in_main(text: bytes, name: str) -> bool:
    """Whether a text names something below `if __name__ == "__main__":` and, but for its imports,
    nowhere above."""
    found = MAIN.search(text)
    word = name.encode("utf-8", "replace")
    if found is None or word not in text[found.end() :]:
        return False
    above = text[: found.start()].split(b"\n")
    return not any(word in line for line in above if not line.startswith((b"import ", b"from ")))


def imported_modules(text: bytes) -> Iterator[str]:
    for match in _IMPORT.finditer(text):
        plain = match["plain"]
        if plain is not None:
            for item in plain.split(b","):
                words = item.split()
                if words:
                    yield words[0].decode(errors="replace")
            continue
        module = match["module"].decode(errors="replace")
        yield module
        dot = "" if module.endswith(".") else "."
        for item in match["names"].strip(b"() \t\r\n").split(b","):
            words = item.split()
            if words and words[0].replace(b"_", b"x").isalnum():
                yield f"{module}{dot}{words[0].decode(errors='replace')}"
