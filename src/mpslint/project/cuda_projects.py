"""Projects for CUDA alone: what they are for cannot be started on a Mac, since compiled kernels or
packages that only CUDA has stand behind nearly all of their programs.

Which module a Mac can import is followed exactly (`imported_runs`). Which of the others somebody
could use on a Mac is not always to be followed: a registry, a configuration or a name that is put
together leads to a module as well. So the project is judged as a whole: where most of what its
programs lead to is out of a Mac's reach, a module that nothing leads to which a Mac can start is
for CUDA as well. From which share on that is so is a guess, a row of the priors.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from mpslint.facts.priors import least_share, package_names
from mpslint.project.compiled.built_extensions import BuiltExtensions
from mpslint.project.compiled.extensions import built_by
from mpslint.project.layout.import_texts import MAIN, imported_modules, module_name, runs_files
from mpslint.project.layout.modules import Modules
from mpslint.project.layout.setup_texts import setup_text
from mpslint.project.published.published import Published
from mpslint.project.runs.certain_imports import ANY_MODULE, certain_imports, texts_of
from mpslint.project.runs.imported_runs import ImportedRuns
from mpslint.project.runs.left_behind import programs
from mpslint.project.runs.needed_functions import needs
from mpslint.project.uses.taken_by_text import TakenByText
from mpslint.records import NamedTuple
from mpslint.semantics.elsewhere.elsewhere import ForCuda
from mpslint.semantics.syntax.paths import is_among_tests
from mpslint.semantics.worlds.machines import MACS
from mpslint.sources.reading import sign_of

if TYPE_CHECKING:
    from mpslint.project.layout.whole import Building, Projects, Whole
    from mpslint.settings.settings import Settings

_INIT = "__init__.py"
_TEST = re.compile(r"test_.*\.py|.*_test\.py")  # Fact: pytest's names of files that it collects.
_TESTS_SHARE = "conftest.py"
_BY_NVCC = (b"CUDAExtension", b"cuda_add_", b"LANGUAGES CUDA", b"enable_language(CUDA")
_BY_TEXT = (b"import_module(", b"__import__(")
# Fact: nbformat, "source" of a cell: a list of its rows, each with its end.
_ROW = re.compile(rb"^\s*\"((?:from|import)\s[^\"\\]*)", re.M)
_SOME_NAME = ""
"""No module has it: whoever may take this one from a text may take any."""


class _Judged(NamedTuple):
    """What is known of a project that is for CUDA alone."""

    within_reach: frozenset[str]
    """The modules that something leads to which a Mac can start."""
    why: ForCuda
    """What it cannot be used without, and how that was found."""


class CudaProjects:
    """A project is judged once, as it lies on the disk: neither what fixes are about to write nor a
    text that is being edited changes what it is for."""

    def __init__(self, projects: Projects, settings: Settings) -> None:
        self._projects = projects
        self._settings = settings
        self._screened: dict[Building, bool] = {}
        self._judged: dict[str, tuple[_Judged | None, dict[str, tuple[int, int]]]] = {}
        """By head, with the files that this rests on, as they were then."""

    def take_over(self, known: CudaProjects) -> None:
        """Takes over what another one has judged, as far as it still lies on the disk so."""
        self._screened.update(known._screened)
        self._judged.update(
            {
                head: (judged, signs)
                for head, (judged, signs) in known._judged.items()
                if all(sign_of(path) == sign for path, sign in signs.items())
            }
        )

    def include(self, path: str) -> tuple[ForCuda | None, tuple[str, ...]]:
        """Why what the module at the absolute `path` does is CUDA's, as its project is for CUDA
        alone, None if it is not; and the files that this rests on."""
        building = self._projects.building(path)
        asked = (*building.scripts, *building.wanted, *building.kernels)
        if building not in self._screened:
            self._screened[building] = self._may_need_cuda(building)
        if not self._screened[building]:
            return None, asked
        whole = self._projects.wide(path)
        if whole is None or path not in whole.modules:
            return None, asked
        files = (*asked, *whole.files)
        if whole.head not in self._judged:
            signs = {one: sign_of(one) for one in files}
            judging = _Judging(self._projects, self._settings)
            self._judged[whole.head] = judging.judge(whole), signs
            judging.release()
        judged, _ = self._judged[whole.head]
        if judged is None or path in judged.within_reach:
            return None, files
        return judged.why, files

    def _may_need_cuda(self, building: Building) -> bool:
        """Whether a project has kernels to compile for CUDA, or lists a package that only CUDA has:
        by a few texts, before all of it is read."""
        modules = Modules(self._settings)
        for path in (*building.scripts, *building.kernels):
            text = setup_text(modules, path)[0] if path.endswith(".py") else modules.text(path)
            text = text or b""
            if path.endswith((".cu", ".cuh")) or any(word in text for word in _BY_NVCC):
                return True
        names = b"|".join(re.escape(name).replace(b"_", b"[-_]") for name in package_names())
        listed = re.compile(rb"(?<![\w-])(?:%s)(?![\w])" % names)
        return any(listed.search(modules.text(path) or b"") for path in building.wanted)


class _Judging:
    """One look through a project. What it reads it keeps for itself, and lets go of: it is much,
    and those who ask about single files would have to make room for it."""

    def __init__(self, projects: Projects, settings: Settings) -> None:
        self._projects = projects
        self._modules = Modules(settings)
        built = BuiltExtensions(self._modules, projects)
        self._runs = ImportedRuns(self._modules, built, projects)

    def judge(self, whole: Whole) -> _Judged | None:
        """None: it is not for CUDA alone."""
        known = self._runs.importable(whole.modules)
        stuck = frozenset(path for path, worlds in known.items() if not worlds & MACS)
        least = least_share()
        # A function may import what no Mac has, in a module that each can import.
        needing = stuck or frozenset(filter(self._runs.names_kernels, whole.modules))
        if not needing or least is None:
            return None
        project = _Project(self._modules, self._runs, whole, stuck)
        units = project.programs()
        weights: dict[str, int] = {}
        computes: dict[str, bool] = {}
        closed: set[str] = set()
        for path in units:
            leading = project.led_to([path], everywhere=True)
            weights[path] = len(leading)
            computes[path] = any(b"torch" in (self._modules.text(one) or b"") for one in leading)
            if not project.is_startable(path, leading):
                closed.add(path)
        # Tests try all that there is, and skip where they cannot: they are not what it is for. Nor
        # is what computes nothing by torch: it downloads something, or builds the documentation.
        purposes = [
            path
            for path in units
            if not _is_test(path) and not is_among_tests(_shown(path, whole)) and computes[path]
        ] or units
        stopped = [path for path in purposes if path in closed]
        share = sum(weights[path] for path in stopped) / (
            sum(weights[path] for path in purposes) or 1
        )
        if share < least:
            return None
        starts = [path for path in units if path not in closed]
        if Published(self._modules).is_for_others(whole)[0]:
            starts += [path for path in whole.modules if project.is_public(path)]
        # What imports a program that cannot be started has nothing of it.
        taken = TakenByText(self._modules)
        within = set(project.led_to(starts, closed=frozenset(closed), taken=taken))
        tests = [path for path in within if _is_test(path)]
        shared = {path for path in whole.modules if path.endswith(_TESTS_SHARE)}
        within |= {one for one in shared if any(_is_below(test, one) for test in tests)}
        name, is_built = self._cause(whole, needing)
        sentence = (
            f"{name} is for CUDA alone; {len(stopped)} of {len(purposes)} programs, with "
            f"{round(100 * share)} % of what they lead to, cannot be started on a Mac"
        )
        return _Judged(frozenset(within), ForCuda(sentence, is_built))

    def release(self) -> None:
        """Lets go of all that was read: the collector of cycles is off."""
        self._runs.release()
        vars(self).clear()

    def _cause(self, whole: Whole, needing: frozenset[str]) -> tuple[str, bool]:
        """What most of the modules that need something need, and whether the project itself
        builds it, or anything else of the kind."""
        found: dict[str, int] = {}
        built: dict[str, str] = {}
        for path in sorted(needing):
            if os.path.basename(path).startswith("setup"):
                continue
            names, own = self._runs.kernels_of(path)
            for name in (*names, *own):
                found[name] = found.get(name, 0) + 1
            built.update({name: self._builder(whole, name) for name in own})
        if not found:
            return f"what {_shown(min(needing), whole)} compiles", True
        name = max(built or found, key=lambda one: found[one])
        script = built.get(name, "")
        return (f"{name}, which {script} builds," if script else name), bool(built)

    def _builder(self, whole: Whole, name: str) -> str:
        """The setup script that builds an extension."""
        last = name.rpartition(".")[2]
        for script in self._projects.building(whole.modules[0]).scripts:
            for_cuda, _ = built_by(setup_text(self._modules, script)[0])
            if any(one.rpartition(".")[2] == last for one in for_cuda):
                return _shown(script, whole)
        return ""


class _Project:
    """Who leads to what in a project of which some modules are `stuck`: no Mac can import them."""

    def __init__(
        self, modules: Modules, runs: ImportedRuns, whole: Whole, stuck: frozenset[str]
    ) -> None:
        self._modules = modules
        self._runs = runs
        self._whole = whole
        self._stuck = stuck
        self._there = frozenset(whole.modules)
        self._notebooks: dict[str, tuple[str, ...]] = {}
        self._next: dict[str, tuple[str, ...]] = {}
        self._packaged: dict[str, tuple[str, ...]] = {}

    def programs(self) -> list[str]:
        """What somebody starts: scripts, tests, notebooks, what nothing of the project imports and
        does something, and each package at the head, which others import."""
        imported = {other for path in self._whole.modules for other in self._leads(path)}
        found = [path for path in self._whole.modules if self._is_program(path, imported)]
        return found + [path for path in self._whole.others if path.endswith(".ipynb")]

    def _is_program(self, path: str, imported: set[str]) -> bool:
        name = os.path.basename(path)
        if name.startswith("setup") or name == _TESTS_SHARE:
            return False
        if name == _INIT:
            return self._whole.is_built and not self._packages(os.path.dirname(path))
        if _TEST.fullmatch(name) or name == "__main__.py":
            return True
        text = self._modules.text(path) or b""
        if MAIN.search(text):
            return True
        if path in imported:
            return False
        tree = self._modules.tree(path)
        return tree is not None and bool(programs(tree))

    @cached_property
    def _late(self) -> frozenset[str]:
        """The modules that a Mac can import, and that yet name what it cannot: in a function, say,
        or by a text. Without one of them a program needs no closer look."""
        return frozenset(
            path
            for path in (*self._whole.modules, *self._whole.others)
            if path not in self._stuck
            and (
                self._runs.names_kernels(path)
                or not all(self._is_open(path, other) for other in self._leads(path))
                or self._may_name_stuck(path)
            )
        )

    @cached_property
    def _stems(self) -> re.Pattern[bytes]:
        stems = {module_name(path).encode("utf-8", "replace") for path in self._stuck}
        return re.compile(rb"\b(?:%s)\b" % b"|".join(map(re.escape, sorted(stems))))

    def _may_name_stuck(self, path: str) -> bool:
        """Whether a module imports by a text, and has one that may be of what is stuck."""
        text = self._modules.text(path) or b""
        return any(way in text for way in _BY_TEXT) and self._names_stuck(text)

    def _names_stuck(self, text: bytes) -> bool:
        return bool(self._stuck) and self._stems.search(text) is not None

    def is_startable(self, path: str, leading: Iterable[str]) -> bool:
        """Whether a Mac can start a program, as far as what it imports for certain says; `leading`:
        all modules that it leads to."""
        if path in self._stuck or any(one in self._stuck for one in self._part_of(path)):
            return False
        named = self._names_stuck(self._modules.text(path) or b"")
        if self._late.isdisjoint(leading) and not named:
            return True
        tree = self._tree(path)
        if tree is None:
            return False  # No Python of today's.

        def find(here: str, module: str) -> tuple[str, ast.Module] | None:
            found = self._runs.find(here, module)
            other = self._tree(found) if found is not None else None
            return None if found is None or other is None else (found, other)

        certain = dict.fromkeys(certain_imports(path, tree, find))
        if not all(self._has(here, tree, module) for here, module in certain):
            return False
        if os.path.basename(path) == _INIT:
            return True  # It hands on what it has for others, who may want something else of it.
        return not needs(tree, self._ending(path, certain))

    def _has(self, here: str, tree: ast.Module, module: str) -> bool:
        """Whether a Mac can import a module as the file at `here` names it."""
        if module.endswith(ANY_MODULE):
            return self._may_choose(here, tree, module.removesuffix(ANY_MODULE))
        found = self._runs.find(here, module)
        if found is not None:
            return found == here or self._is_open(here, found)
        return bool(self._runs.imports_on(here, module)[0] & MACS)

    def _ending(self, path: str, imported: Iterable[tuple[str, str]]) -> set[str]:
        """The functions that a program itself imports and from which no Mac comes back: what cannot
        do without them is for CUDA."""
        return {
            module
            for here, module in imported
            if here == path
            and self._runs.find(here, module) is None
            and self._runs.never_comes_back(here, module)
        }

    def _may_choose(self, path: str, tree: ast.Module, begins: str) -> bool:
        """Whether a Mac can import a module that a program chooses by a text which `begins` so: one
        of those that its own texts name."""
        named = [
            found
            for text in dict.fromkeys(texts_of(tree))
            if (found := self._runs.find(path, f"{begins}{text}")) is not None and found != path
        ]
        if not named and begins:
            return bool(self._runs.imports_on(path, f"{begins}{ANY_MODULE}")[0] & MACS)
        return not named or any(self._is_open(path, one) for one in named)

    def _tree(self, path: str) -> ast.Module | None:
        if path.endswith(".ipynb"):
            return _tree_of(self._modules.text(path) or b"")
        if b"import" not in (self._modules.text(path) or b""):
            return ast.Module(body=[], type_ignores=[])
        return self._modules.tree(path)

    def is_public(self, path: str) -> bool:
        """Whether others who install the project can import a module of its packages on a Mac."""
        around = self._packages(path)
        return bool(around) and path not in self._stuck and self._stuck.isdisjoint(around)

    def led_to(
        self,
        starts: Iterable[str],
        *,
        everywhere: bool = False,
        closed: frozenset[str] = frozenset(),
        taken: TakenByText | None = None,
    ) -> list[str]:
        """The modules that these lead to, themselves among them: those that a Mac can import and
        that are not `closed`, or `everywhere` all."""
        found: dict[str, None] = {}
        todo = list(starts)
        while todo:
            path = todo.pop()
            if path in found or path in closed:
                continue
            found[path] = None
            todo += [
                other
                for other in self._behind(path)
                if other not in found and (everywhere or self._is_open(path, other))
            ]
            if taken is not None:
                todo += [one for one in self._looked_up(path, taken) if one not in found]
        return list(found)

    def _behind(self, path: str) -> tuple[str, ...]:
        """What a module imports, and the packages that Python imports before it: each program asks
        for that of what it leads to."""
        if path not in self._next:
            around = (one for one in self._packages(path) if one not in self._stuck)
            self._next[path] = (*self._leads(path), *around)
        return self._next[path]

    def _looked_up(self, path: str, taken: TakenByText) -> Iterator[str]:
        """The modules that one may take from a text, or from the place of a file."""
        text = self._modules.text(path) or b""
        by_file = runs_files(text)
        if by_file or any(word in text for word in _BY_TEXT):
            for other in self._whole.modules:
                if other != path and self._is_open(path, other):
                    if by_file or taken.takes(path, other, _SOME_NAME):
                        yield other

    def _is_open(self, path: str, other: str) -> bool:
        """Whether the module at `path` gets at another one on a Mac: packages around both have been
        imported before, or are none where a script is started in them."""
        if other in self._stuck:
            return False
        shared = frozenset(self._packages(path))
        return not any(one in self._stuck and one not in shared for one in self._packages(other))

    def _leads(self, path: str) -> tuple[str, ...]:
        if not path.endswith(".ipynb"):
            return self._runs.imports_of(path)
        if path not in self._notebooks:
            modules = imported_modules(_rows_of(self._modules.text(path) or b""))
            found = (self._runs.find(path, module) for module in dict.fromkeys(modules))
            self._notebooks[path] = tuple(dict.fromkeys(one for one in found if one is not None))
        return self._notebooks[path]

    def _part_of(self, path: str) -> tuple[str, ...]:
        """The packages that are imported before a program: none for one that is started where it
        lies, be it in a package."""
        by_path = path.endswith(".ipynb") or self._modules.is_script_of_package(path)
        return () if by_path else self._packages(path)

    def _packages(self, path: str) -> tuple[str, ...]:
        """The packages that a module lies in, innermost first; that which it is itself is none."""
        folder = os.path.dirname(path)
        if os.path.basename(path) == _INIT:
            folder = os.path.dirname(folder)
        return self._packages_of(folder)

    def _packages_of(self, folder: str) -> tuple[str, ...]:
        if folder not in self._packaged:
            package = os.path.join(folder, _INIT)
            above = self._packages_of(os.path.dirname(folder)) if package in self._there else None
            self._packaged[folder] = () if above is None else (package, *above)
        return self._packaged[folder]


def _tree_of(notebook: bytes) -> ast.Module | None:
    """All cells of a notebook that are Python as one module."""
    try:
        cells = json.loads(notebook)["cells"]
        texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    body: list[ast.stmt] = []
    for text in texts:
        with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            body += ast.parse(text).body
    return ast.Module(body=body, type_ignores=[])


def _rows_of(notebook: bytes) -> bytes:
    """The rows of a notebook's cells, as far as imports go: each is a text of its own there."""
    return b"\n".join(_ROW.findall(notebook))


def _is_test(path: str) -> bool:
    return _TEST.fullmatch(os.path.basename(path)) is not None


def _is_below(path: str, shared: str) -> bool:
    return path.startswith(os.path.join(os.path.dirname(shared), ""))


def _shown(path: str, whole: Whole) -> str:
    return os.path.relpath(path, whole.head).replace(os.sep, "/")
