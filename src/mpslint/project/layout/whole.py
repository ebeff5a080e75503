"""A project as it lies on the disk: its head, and the files that Python or a shell would start."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mpslint.folders.looks import is_head, is_marked
from mpslint.records import NamedTuple
from mpslint.sources.files import BUILT, VERSIONED
from mpslint.sources.reading import sign_of

if TYPE_CHECKING:
    from mpslint.settings.settings import Settings

PROSE = (".md", ".rst", ".txt")
SETTINGS = (".yaml", ".yml", ".json", ".toml", ".cfg", ".ini")
_COMMANDS = (
    *(".zsh", ".ksh", ".csh", ".fish", ".bat", ".cmd", ".ps1", ".mk", ".smk", ".nf"),
    *(".slurm", ".sbatch", ".pbs", ".qsub", ".sge", ".lsf", ".job"),
)
_DATA = (*SETTINGS, *_COMMANDS, ".sh", ".bash", ".gin", ".jsonnet", ".libsonnet", ".ipynb")
_BY_NAME = frozenset({"Makefile", "makefile", "GNUmakefile", "justfile", "Snakefile", "Procfile"})
"""Files of commands that are known by their whole names."""
_OF_SERVICES = frozenset({".github", ".circleci", ".gitlab"})
"""Hidden folders in which a service finds the commands that it runs."""
_SETUP = "setup"
"""What the names of scripts begin with that build a project: `setup.py`, `setup_cuda.py`."""
_MOST_ENTRIES = 4_000
"""Of a folder with more in it nobody looks through all: reading it takes longer than the check."""
_MOST_FILES = 640
"""So many files an answer may rest on that runs some of them, or reads them for each object."""
_MOST_SEARCHED = 2_000
"""So many texts are searched for a name: whether anybody uses something hangs on all of them."""
_MOST_MODULES = 1_200
"""So many modules a project has at most that is judged as a whole. Where one had 1,020 that was a
tenth of a check; of three larger ones, which took up to a third more, none was for CUDA alone."""
_KERNELS = (".cu", ".cuh", "CMakeLists.txt")
_WANTED = ("requirement", "environment", "conda", "pyproject.toml", "setup.cfg", "Dockerfile")
"""What the names of texts begin with that list what a project needs."""
_UP = 8
"""So many folders up the head of a project is looked for."""
_DEEP = 3
"""So many folders below the head of a project a setup script of one of its parts may lie."""
_MOST_FOLDERS = 128
"""So many folders are looked through for such scripts."""


def speaks_freely(path: str) -> bool:
    """Whether words of a text that is no module may be no names of anything in the project: those
    of prose, and of commands that have names of their own (`train:`, `branches: [main]`)."""
    if path.endswith((*PROSE, *_COMMANDS)) or os.path.basename(path) in _BY_NAME:
        return True
    return not _OF_SERVICES.isdisjoint(path.split(os.sep)[:-1])


class Whole(NamedTuple):
    """A project as it lies on the disk."""

    head: str
    modules: tuple[str, ...]
    others: tuple[str, ...]
    folders: tuple[str, ...]
    is_built: bool
    """Whether it can be installed: `published` says whether others do."""

    @property
    def files(self) -> tuple[str, ...]:
        return *self.folders, *self.modules, *self.others


class Building(NamedTuple):
    """What of a project says how it is built, as far as a few folders below its head show it."""

    scripts: tuple[str, ...]
    """Its setup scripts, those of its parts among them."""
    kernels: tuple[str, ...]
    """Sources that `nvcc` compiles, or what may tell a tool to do so."""
    wanted: tuple[str, ...]
    """Texts at the head that list what is to be installed."""


_UNBUILT = Building((), (), ())


class Projects:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._wholes: dict[str, Whole | None] = {}
        self._heads: dict[str, str | None] = {}
        self._wide: dict[str, Whole | None] = {}
        self._searched: dict[str, Whole | None] = {}
        self._built: dict[str, Building] = {}
        self.signs: dict[str, tuple[int, int]] = {}
        """The folders that were listed, as they were then."""
        self.marks: dict[str, bool] = {}
        """Whether these are there, of which nobody asks more."""
        self.asked: dict[str, bool] = {}
        """Of folders above, of which others write to some all the time: whether each is a head."""

    def take_over(self, known: Projects) -> None:
        """Takes over what another one has found on the disk."""
        self._wholes.update(known._wholes)
        self._heads.update(known._heads)
        self._wide.update(known._wide)
        self._searched.update(known._searched)
        self._built.update(known._built)
        self.signs.update(known.signs)
        self.marks.update(known.marks)
        self.asked.update(known.asked)

    def of(self, path: str) -> Whole | None:
        """The project that a file belongs to; None where nobody looks through it."""
        head = self._head(os.path.dirname(path))
        if head is None:
            return None
        if head not in self._wholes:
            self._wholes[head] = self._listed(head)
        return self._wholes[head]

    def searched(self, path: str) -> Whole | None:
        """The same of a larger project as well, for who asks whether a name stands anywhere."""
        whole = self.of(path)
        head = self._head(os.path.dirname(path))
        if whole is not None or head is None:
            return whole
        if head not in self._searched:
            self._searched[head] = self._listed(head, most=_MOST_SEARCHED)
        return self._searched[head]

    def has_head(self, path: str) -> bool:
        """Whether a file belongs to a project at all."""
        return self._head(os.path.dirname(path)) is not None

    def place(self, path: str) -> str:
        """The path of a file below the head of its project, whatever folder that lies in itself."""
        path = os.path.abspath(path)
        head = self._head(os.path.dirname(path))
        return os.path.relpath(path, head).replace(os.sep, "/") if head is not None else ""

    def wide(self, path: str) -> Whole | None:
        """The same of a larger project as well, for who asks once for all of it and needs no more
        of others than the notebooks."""
        whole = self.of(path)
        head = self._head(os.path.dirname(path))
        if whole is not None or head is None:
            return whole
        if head not in self._wide:
            self._wide[head] = self._listed(head, 3 * _MOST_ENTRIES, _MOST_MODULES, (".ipynb",))
        return self._wide[head]

    def setup_scripts(self, path: str) -> tuple[str, ...]:
        """The setup scripts of the project that a file belongs to, those of its parts among them.
        One that is written later, in a folder that had none, is not heard of before the file or
        something else that it rests on changes: it would rest on all folders of the project."""
        return self.building(path).scripts

    def building(self, path: str) -> Building:
        """What says how the project is built that a file belongs to; see `setup_scripts`."""
        head = self._head(os.path.dirname(path))
        if head is None:
            return _UNBUILT
        if head not in self._built:
            self._built[head] = self._building(head)
        return self._built[head]

    def _building(self, head: str) -> Building:
        scripts: list[str] = []
        kernels: list[str] = []
        wanted: list[str] = []
        todo = [(head, 0)]
        for _ in range(_MOST_FOLDERS):
            if not todo:
                break
            folder, depth = todo.pop(0)
            self._note(folder)
            try:
                with os.scandir(folder) as entries:
                    found = sorted(entries, key=lambda entry: entry.name)
            except OSError:
                continue
            for entry in found:
                name = entry.name
                if name.startswith(_SETUP) and name.endswith(".py") and entry.is_file():
                    scripts.append(entry.path)
                elif name.endswith(_KERNELS) and entry.is_file():
                    kernels.append(entry.path)
                elif folder == head and name.startswith(_WANTED) and entry.is_file():
                    wanted.append(entry.path)
            if depth < _DEEP:
                todo += [
                    (entry.path, depth + 1)
                    for entry in found
                    if self._is_followed(entry.name) and entry.is_dir(follow_symlinks=False)
                ]
        return Building(tuple(scripts), tuple(kernels), tuple(wanted))

    def _is_followed(self, name: str) -> bool:
        return not name.startswith(".") and name not in self._settings.exclude

    def _head(self, folder: str) -> str | None:
        """The project's folder: where it is versioned, else the outermost that looks like one."""
        if folder not in self._heads:
            above = [folder]
            while len(above) < _UP and os.path.dirname(above[-1]) != above[-1]:
                above.append(os.path.dirname(above[-1]))
            versioned = (place for place in above if is_marked(place, VERSIONED, self.marks))
            self._heads[folder] = next(
                versioned, next((place for place in reversed(above) if self._is_head(place)), None)
            )
        return self._heads[folder]

    def _listed(
        self,
        head: str,
        left: int = _MOST_ENTRIES,
        most: int = _MOST_FILES,
        kinds: tuple[str, ...] = (*PROSE, *_DATA),
    ) -> Whole | None:
        modules: list[str] = []
        others: list[str] = []
        folders: list[str] = []
        for folder, inner, names in os.walk(head):
            self._note(folder)
            left -= len(names) + len(inner)
            inner[:] = sorted(
                name
                for name in inner
                if self._is_followed(name) or (name in _OF_SERVICES and folder == head)
            )
            folders.append(folder)
            is_run = os.path.relpath(folder, head).partition(os.sep)[0] in _OF_SERVICES
            for name in sorted(names):
                kind = os.path.splitext(name)[1]
                place = os.path.join(folder, name)
                if is_run:
                    # Who reports a mistake fills in what else lies there.
                    if kind in _DATA and kind in kinds:
                        others.append(place)
                elif kind == ".py":
                    modules.append(place)
                elif kind in kinds or (name in _BY_NAME and ".sh" in kinds):
                    others.append(place)
            if left < 0 or len(modules) + len(others) > most:
                return None
        is_built = any(os.path.isfile(os.path.join(head, name)) for name in BUILT)
        return Whole(head, tuple(modules), tuple(others), tuple(folders), is_built)

    def _is_head(self, folder: str) -> bool:
        if folder not in self.asked:
            self.asked[folder] = is_head(folder)
        return self.asked[folder]

    def _note(self, folder: str) -> None:
        if folder not in self.signs:
            self.signs[folder] = sign_of(folder)
