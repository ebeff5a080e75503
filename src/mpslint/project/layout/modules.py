"""The modules that a file can import from its own project: where they lie and what they hold.

Modules are found as Python would find them from the importing file (its package's root or its
own folder, then the project's root and `src` below it) and parsed; nothing is imported. What was
looked at is told with its time and size, absent files as well, so that whoever keeps an answer can
see whether it still holds.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from mpslint.errors import MpslintError
from mpslint.facts.priors import package_names
from mpslint.folders.looks import is_marked, modules_in
from mpslint.project.layout.added_folders import AddedFolders
from mpslint.project.layout.definition_texts import may_say
from mpslint.project.layout.file_sets import FileSets
from mpslint.project.layout.import_texts import MAIN
from mpslint.project.layout.kept_contexts import KeptContexts
from mpslint.project.layout.kept_texts import KeptTexts
from mpslint.project.layout.namesakes_of_packages import means_package
from mpslint.project.layout.word_holders import WordHolders
from mpslint.semantics.context import Context
from mpslint.semantics.worlds.relevance import OWN_MOVE
from mpslint.sources.files import BUILT, VERSIONED, read_regular
from mpslint.sources.opening import without_pictures
from mpslint.sources.reading import ABSENT, sign_of
from mpslint.sources.screening import holds_one, imported_words, names_in
from mpslint.sources.trees import Trees

if TYPE_CHECKING:
    import ast

    from mpslint.semantics.elsewhere.elsewhere import Elsewhere
    from mpslint.settings.settings import Settings
    from mpslint.sources.source import SourceFile

_MAX_BYTES = 2_000_000
_MOST_BESIDE = 64
"""So many modules' words are kept."""
_UP = 6
"""So many folders up a package is looked for whose tests a file may be one of."""
INSTALLING = ("setup.py", "pyproject.toml", "setup.cfg")
_Key = TypeVar("_Key")
_Known = TypeVar("_Known")
_Found = dict[str, tuple[str | None, tuple[str, ...]]]
"""By the dotted name of a module: its file, and all files that were looked for."""
_FOREIGN = sys.stdlib_module_names | {
    "torch",
    "torchvision",
    "torchaudio",
    "numpy",
    "scipy",
    "pandas",
    "matplotlib",
    "PIL",
    "tqdm",
    "transformers",
    "accelerate",
    "diffusers",
    "lightning",
    "pytorch_lightning",
    "pytest",
}
"""Packages that no project defines itself; not looked for."""
_TO_HEAD = 8
"""So many folders up the head of a project is looked for."""


class Modules(WordHolders):
    def __init__(self, settings: Settings, virtual: dict[str, bytes] | None = None) -> None:
        """`virtual`: contents of files that do not exist yet, by absolute path."""
        super().__init__()
        self._settings = settings
        self._virtual = virtual or {}
        self._found: dict[tuple[object, ...], _Found] = {}  # by what matters of the file that asks
        self._found_from: dict[str, _Found] = {}  # by that file
        self._lone: dict[tuple[str, str], tuple[str | None, tuple[str, ...]]] = {}  # beside it
        self._files: dict[str, bool] = {}
        self._added = AddedFolders(self.text, self.tree, self._is_file, project_roots(settings)[0])
        self._roots: dict[str, str] = {}
        self._around_folders: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        self._scripts: dict[str, bool] = {}
        self._packages: dict[str, tuple[tuple[str, str], ...]] = {}
        self._of_project = project_roots(settings)
        self._signs: dict[str, tuple[int, int]] = {}
        self.marks: dict[str, bool] = {}
        """Whether these are there, of which nobody asks more."""
        self._spoken: dict[tuple[str, str, tuple[bytes, ...]], bool] = {}
        self._contexts = KeptContexts()
        self._texts = KeptTexts()
        self._kernels: dict[str, bool] = {}
        self._beside: dict[str, list[str]] = {}
        self._words: dict[str, frozenset[bytes]] = {}
        self.trees, self.file_sets = Trees(), FileSets()

    def take_over(self, known: Modules, changed: Collection[str]) -> None:
        """Takes over what another one knows that has other texts for the `changed` files alone."""
        self.trees, self.file_sets = known.trees, known.file_sets
        self._found.update({key: dict(found) for key, found in known._found.items()})
        self._roots.update(known._roots)
        self._around_folders.update(known._around_folders)
        self._signs.update(known._signs)
        self.marks.update(known.marks)
        self._beside.update(known._beside)
        self._added.take_over(known._added, changed)
        self._scripts.update(_without(known._scripts, changed))
        self._texts.take_over(known._texts, changed)
        self._kernels.update(_without(known._kernels, changed))
        self._words.update(_without(known._words, changed))
        spoken = {key: says for key, says in known._spoken.items() if key[0] not in changed}
        self._spoken.update(spoken)

    @property
    def made_up(self) -> set[str]:
        """The files that are not on the disk."""
        return {path for path in self._virtual if not self._is_file(path)}

    def find(self, path: str, module: str) -> tuple[str | None, tuple[str, ...]]:
        """The file of a dotted module as the file at the absolute `path` names it, and all files
        that were looked for."""
        if not module or is_foreign(module) or means_package(path, module, self.text):
            return None, ()
        known = self._found_from.get(path)
        if known is None:
            key = (os.path.dirname(path), self.is_script_of_package(path), self._added.by(path))
            known = self._found_from[path] = self._found.setdefault(key, {})
        if module not in known:
            known[module] = self._find(path, module)
        if known[module][0] is not None or module.startswith(".") or (path, module) in self._lone:
            return self._lone.get((path, module), known[module])
        found = self._beside_program(path, module, known[module][1])
        if found[0] is None:
            found = self._told_by_others(path, module, found[1])
        self._lone[path, module] = found
        return found

    def _told_by_others(
        self, path: str, module: str, looked: tuple[str, ...]
    ) -> tuple[str | None, tuple[str, ...]]:
        """The file of a module in a folder that a module beside the one at `path`, which that
        imports, puts on `sys.path`: `import _init_paths`."""
        added = self._added.by_imported(path)
        more, parts = [*looked, *added], module.split(".")
        found = (self._in_folder(one, parts, more) for each in added.values() for one in each)
        return next(filter(None, found), None), tuple(more)

    def _find(self, path: str, module: str) -> tuple[str | None, tuple[str, ...]]:
        dots = len(module) - len(module.lstrip("."))
        parts = [part for part in module.strip(".").split(".") if part]
        own = os.path.dirname(path)
        folders: Iterable[str]
        if dots:
            for _ in range(dots - 1):
                own = os.path.dirname(own)
            folders = [own]
        else:
            first = (own,) if self.is_script_of_package(path) else ()
            around, inside = self._folders_around(path)
            last = inside if len(parts) > 1 else ()
            folders = dict.fromkeys((*first, *around, *self._added.by(path), *last))
        looked: list[str] = []
        for folder in folders:
            found = self._in_folder(folder, parts, looked)
            if found is not None:
                return found, tuple(looked)
        return None, tuple(looked)

    def _beside_program(
        self, path: str, module: str, looked: tuple[str, ...]
    ) -> tuple[str | None, tuple[str, ...]]:
        """The file beside the one at `path`, where a program of their package imports that so."""
        more = list(looked)
        found = self._in_folder(os.path.dirname(path), module.split("."), more)
        if found is None or found == path:
            return None, tuple(more)
        beside = self.beside(path)
        own = os.path.basename(path).removesuffix(".py").encode(errors="replace")
        for other in beside:
            if self.is_script_of_package(other) and own in self.imported_by(other):
                return found, (*more, *beside)
        return None, (*more, *beside)

    def _in_folder(self, folder: str, parts: list[str], looked: list[str]) -> str | None:
        """The file of a module that is looked for in one folder."""
        base = os.path.join(folder, *parts)
        # Of a package and a module of the same name Python takes the package.
        modules = [f"{base}.py"] if parts else []
        for candidate in (os.path.join(base, "__init__.py"), *modules):
            looked.append(candidate)
            if candidate in self._virtual or self._is_file(candidate):
                return candidate
        return None

    def _folders_around(self, path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The folders from which any file beside this one imports, and those in which only
        packages are looked for."""
        folder = os.path.dirname(path)
        if folder not in self._around_folders:
            around = (*self.roots(path), *self._above(path))
            self._around_folders[folder] = around, tuple(self._inside_package(path))
        return self._around_folders[folder]

    def _inside_package(self, path: str) -> Iterator[str]:
        """The folders of a package around a file: who starts a program in one of them has that in
        `sys.path`, and its packages name each other from there. A module that has no package is
        somebody else's as often."""
        root = self.roots(path)[0]
        folder = os.path.dirname(path)
        for _ in range(_UP):
            if folder == root:
                return
            yield folder
            folder = os.path.dirname(folder)

    def packages_of(self, path: str, module: str, found: str) -> list[str]:
        """The packages that Python imports before the module `found`, outermost first, as the file
        at `path` names that. Of those around this file, which it is told of by `.`, there are none:
        they have been imported before it."""
        most = module.strip(".").count(".") if not module.startswith(".") else _UP
        inside: list[str] = []
        for folder, package in self._packages_around(found)[:most]:
            if module != "." and _is_below(path, folder):
                break
            inside.insert(0, package)
        return inside

    def _packages_around(self, found: str) -> tuple[tuple[str, str], ...]:
        """The folders of the packages around a module, innermost first, and what makes them so."""
        if found not in self._packages:
            folder, name = os.path.split(found)
            if name == "__init__.py":
                folder = os.path.dirname(folder)
            around: list[tuple[str, str]] = []
            while self._is_file(package := os.path.join(folder, "__init__.py")):
                around.append((folder, package))
                folder, inner = os.path.dirname(folder), folder
                if folder == inner:
                    break
            self._packages[found] = tuple(around)
        return self._packages[found]

    def made_around(self, path: str, package: str) -> tuple[bool, tuple[str, ...]]:
        """Whether a folder around the file at the absolute `path` holds a package of this name
        beside a setup script, which makes it; and the files that were looked for."""
        looked: list[str] = []
        folder = os.path.dirname(path)
        for _ in range(_UP):
            own = os.path.join(folder, *package.split("."), "__init__.py")
            looked.append(own)
            if self._is_file(own):
                scripts = [os.path.join(folder, name) for name in INSTALLING]
                looked += scripts
                return any(map(self._is_file, scripts)), tuple(looked)
            folder = os.path.dirname(folder)
        return False, tuple(looked)

    def is_script_of_package(self, path: str) -> bool:
        """Whether a file is a program that lies in a package: who starts it by its path has its own
        folder first in `sys.path`, so that it imports its neighbours as if they were no package's.
        """
        if path not in self._scripts:
            folder = os.path.dirname(path)
            self._scripts[path] = (
                self._package_root(path) != folder
                and MAIN.search(self.text(path) or b"") is not None
            )
        return self._scripts[path]

    def roots(self, path: str) -> list[str]:
        """The folders from which the file at `path` can import by absolute names, each once."""
        return list(dict.fromkeys([self._package_root(path), *self._of_project]))

    def _package_root(self, path: str) -> str:
        folder = os.path.dirname(path)
        if folder not in self._roots:
            root = self._roots[folder] = package_root(path)
            for one in (*folders_up(folder, root), root):
                self.sign(os.path.join(one, "__init__.py"))
        return self._roots[folder]

    def _above(self, path: str) -> Iterator[str]:
        """The folders between a file and the project's own, the nearest first: a program may start
        in one of them, and find there what its modules import."""
        near, top = self.roots(path)[0], self._of_project[0]
        if not _is_below(near, top):
            yield from _outside(near, self.marks, is_started_there=near == top)
            return
        folder = os.path.dirname(near)
        while _is_below(folder, top) and folder != top:
            yield folder
            folder = os.path.dirname(folder)

    def _is_file(self, path: str) -> bool:
        """Whether there is a plain file: opening a pipe would wait for somebody to write."""
        if path not in self._files:
            self._files[path] = self.sign(path) != ABSENT and os.path.isfile(path)
        return self._files[path]

    def _is_folder(self, path: str) -> bool:
        return self.sign(path) != ABSENT and os.path.isdir(path)

    def beside(self, path: str) -> list[str]:
        """The other modules of the folder of the file at `path`; none where there are many."""
        folder = os.path.dirname(path)
        if folder not in self._beside:
            self._beside[folder] = modules_in(folder)
        own = os.path.basename(path)
        return [os.path.join(folder, name) for name in self._beside[folder] if name != own]

    def below(self, path: str) -> list[str]:
        """The modules of the folders beside the file at `path`, or beside its own folder, from
        which it imports: a program's parts find each other from the folder of the program."""
        own, words = os.path.dirname(path), self.imported_by(path)
        folders = [
            os.path.join(folder, word.decode(errors="replace"))
            for folder in dict.fromkeys((own, *self._around(path)))
            for word in sorted(words)
            if self._is_folder(os.path.join(folder, word.decode(errors="replace")))
        ]
        folders = [folder for folder in folders if folder != own]
        return [name for one in folders for name in self.beside(os.path.join(one, ""))]

    def _around(self, path: str) -> Iterable[str]:
        """The folder around the file's own, where Python looks for what the file imports."""
        folder = os.path.dirname(os.path.dirname(path))
        return (folder,) if folder in self.roots(path) else ()

    def words(self, path: str) -> frozenset[bytes]:
        """All names and words in the text of a module."""
        if path not in self._words:
            _keep(self._words, path, frozenset(names_in(self.text(path) or b"")), _MOST_BESIDE)
        return self._words[path]

    def has_words(self, path: str, words: frozenset[bytes]) -> bool:
        """Whether these are among the names and words of a module. Most texts hold them nowhere,
        which is seen without parting them; a folder of more files than `words` keeps would else be
        parted anew for each question."""
        if path not in self._words:
            text = self.text(path) or b""
            if not all(word in text for word in words):
                return False
        return words <= self.words(path)

    def imported_by(self, path: str) -> frozenset[bytes]:
        """All names on the lines by which a module imports."""
        return imported_words(self._read(path) or b"")

    @property
    def looked_at(self) -> int:
        """How many files were looked at, or for."""
        return len(self._signs)

    @property
    def listed(self) -> dict[str, list[str]]:
        """The folders whose modules were asked for, with these."""
        return self._beside

    @property
    def signs(self) -> dict[str, tuple[int, int]]:
        """All files and folders that were looked at, or for, as they were when they first were."""
        return self._signs

    def sign(self, path: str) -> tuple[int, int]:
        """Time and size of a file when it was first looked at."""
        if path not in self._signs:
            self._signs[path] = sign_of(path)
        return self._signs[path]

    def may_say(
        self, path: str, name: str, words: tuple[bytes, ...], *, classes: bool = True
    ) -> bool:
        """Whether the module at `path`, or one that it takes `name` from, can say of `name` what
        takes one of `words` to say; not `classes`, a class cannot."""
        key = (path, name, words)
        if not classes and b"class " + name.encode("utf-8", "replace") in (self.text(path) or b""):
            return False
        if key not in self._spoken:
            data = self.text(path) or b""
            # What a module makes of its own classes matters where one of them has a `cuda`.
            self._spoken[key] = OWN_MOVE in data or may_say(data, name, words)
        return self._spoken[key]

    def names_kernels(self, path: str) -> bool:
        """Whether the text of a module has the name of a package that only some machines have."""
        if path not in self._kernels:
            self._kernels[path] = holds_one(self.text(path) or b"", package_names())
        return self._kernels[path]

    def context(self, path: str, elsewhere: Elsewhere) -> Context | None:
        """The meaning of the module at `path`; None where it cannot be read."""
        key = (path, type(elsewhere))
        if key in self._contexts:
            return self._contexts.take(key)
        context = self._parsed(path, elsewhere)
        self._contexts.put(key, context)
        return context

    def read_anew(self, path: str, elsewhere: Elsewhere) -> Context | None:
        """The meaning of the module at `path`, for one who keeps nothing of it."""
        return self._parsed(path, elsewhere)

    def tree(self, path: str) -> ast.Module | None:
        """The tree of the module at `path`; None where it cannot be read, or says nothing."""
        source = self._source(path)
        return source[1] if source is not None else None

    def _parsed(self, path: str, elsewhere: Elsewhere) -> Context | None:
        known = self._source(path)
        try:
            return Context(*known, self._settings, elsewhere) if known is not None else None
        except RecursionError:
            return None

    def _source(self, path: str) -> tuple[SourceFile, ast.Module] | None:
        data = self.text(path)
        if data is None or (b"torch" not in data and b"import" not in data and b"=" not in data):
            return None
        try:
            return self.trees.read(path, data)
        except (MpslintError, RecursionError):
            return None

    def text(self, path: str) -> bytes | None:
        """The text of a module, kept for a while."""
        return self._texts.of(path, self._read)

    def _read(self, path: str) -> bytes | None:
        if path in self._virtual:
            return self._virtual[path]
        if self.sign(path)[1] > _MAX_BYTES or not self._is_file(path):
            return None
        try:
            return without_pictures(path, read_regular(path, _MAX_BYTES))
        except OSError:
            return None


def folders_up(folder: str, to: str) -> Iterator[str]:
    """The folders from one up to that which it lies in, that one left out."""
    while folder != to and os.path.dirname(folder) != folder:
        yield folder
        folder = os.path.dirname(folder)


def _outside(near: str, marks: dict[str, bool], *, is_started_there: bool) -> list[str]:
    """The folders above one that is not below the current folder, up to the head of its project:
    what is found must not hang on where the check was started. Where no folder is marked as a head
    all of them count, but for a check that `is_started_there`: that may be the head. What was
    asked for is noted in `marks`."""
    found: list[str] = []
    folder = near
    for _ in range(_TO_HEAD):
        if is_marked(folder, (*VERSIONED, *BUILT), marks):
            return found
        if os.path.dirname(folder) == folder:
            break
        folder = os.path.dirname(folder)
        found.append(folder)
    return [] if is_started_there else found


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(os.path.join(folder, ""))


def _without(known: dict[str, _Known], changed: Collection[str]) -> dict[str, _Known]:
    return {path: told for path, told in known.items() if path not in changed}


def _keep(known: dict[_Key, _Known], path: _Key, value: _Known, most: int) -> None:
    """Note `value`, and forget what was noted first where that is too much."""
    while len(known) >= most:
        del known[next(iter(known))]
    known[path] = value


def is_foreign(qualified: str) -> bool:
    """Whether a name is one of packages that no project defines."""
    return qualified.partition(".")[0] in _FOREIGN


def project_roots(settings: Settings) -> tuple[str, str]:
    root = os.path.abspath(settings.root or ".")
    return root, os.path.join(root, "src")


def package_root(path: str) -> str:
    """The folder that must be on `sys.path` for the file to be imported (or run) as it is."""
    folder = os.path.dirname(os.path.abspath(path))
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        parent = os.path.dirname(folder)
        if parent == folder:
            break
        folder = parent
    return folder
