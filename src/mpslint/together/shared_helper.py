"""One function that selects the device, for a project of which several files would get a copy.

From the second copy on a maintainer asks for a helper. It is made beside the files, where they can
import it, and used as the setting `helper-module` has it. What one file would get several times
over becomes a function of that file.
"""

from __future__ import annotations

import ast
import os
from functools import lru_cache
from typing import TYPE_CHECKING

from mpslint.errors import MpslintError
from mpslint.project.layout.import_places import imports_shown, is_found_two_ways, places
from mpslint.project.layout.import_texts import MAIN
from mpslint.project.layout.linked_modules import is_cut_off, linked_below
from mpslint.project.layout.modules import package_root
from mpslint.records import NamedTuple
from mpslint.semantics.context import Context
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.sources.files import files_below, read_regular
from mpslint.sources.opening import is_notebook
from mpslint.sources.screening import imported_words
from mpslint.sources.source import SourceFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from mpslint.fixing.fixer import Made
    from mpslint.project.layout.import_places import Places
    from mpslint.project.project import Project
    from mpslint.settings.settings import Settings

_LEAST = 2
"""So many files must be able to use it."""
_NAMES = ("device.py", "devices.py", "torch_device.py")
_SELECTS = ("cuda.is_available()", "backends.mps.is_available()", "cpu")
"""What all stands in the text of a selection."""
_NUMBERED = "cuda:"
_LINES = 8
"""So many lines that selections take more than what was there are worth a function."""
_MOST_FILES, _MAX_BYTES = 5000, 1 << 20
"""So many modules of a project are asked whom they import, none larger than this."""
_MOST_IMPORTERS = 12
"""So many of those that import a file are asked by which name they do."""
_MOST_READ = 64
"""So many of these are kept: files that lie together have the same ones."""
_DEFINING = (*FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)


class _Module(NamedTuple):
    words: frozenset[bytes]
    """The names on the lines by which it imports."""
    is_program: bool


class Selecting(NamedTuple):
    """A file into which fixes wrote selections."""

    source: SourceFile
    """As it was."""
    settings: Settings
    is_new: bool
    """It had none there: a line of its own, or one in place of a device that was written out."""
    is_repeated: bool
    """So many that a function of the file is shorter, be it that some were there before."""

    @property
    def wants_helper(self) -> bool:
        """Others only take the one that there is: a choice that a file makes anyway stays its own
        where nobody shares one."""
        return self.is_new or self.is_repeated


def selecting(made: Made, source: SourceFile, settings: Settings) -> Selecting | None:
    """What fixes have selected; None: nothing. One GPU of several is not what others ask for."""
    written = [
        edit
        for edits in made.passes
        for edit in edits
        if _NUMBERED not in edit.text and all(word in edit.text for word in _SELECTS)
    ]
    is_new = any(_SELECTS[0] not in edit.expect for edit in written)
    lines = sum(edit.text.count("\n") - edit.expect.count("\n") for edit in written)
    is_repeated = len(written) > 1 and lines >= _LINES and not is_notebook(source.path)
    if not written:
        return None
    return Selecting(source, settings, is_new, is_repeated)


def shared(
    selecting: Mapping[str, Selecting],
    project_of: Callable[[Settings, dict[str, bytes]], Project],
) -> dict[str, Settings]:
    """For files that would get a selection each the settings by which they share one, or have one
    for themselves; empty where they are few, or have no place in common that they can import it
    from."""
    found: dict[str, Settings] = {}
    by_settings: dict[Settings, list[str]] = {}
    for path, file in selecting.items():
        settings = file.settings
        if settings.style == "inline" and settings.helper_module is None:
            by_settings.setdefault(settings, []).append(path)
            if file.is_repeated:
                found[path] = settings._replace(style="helper")
    for settings, paths in by_settings.items():
        if sum(selecting[path].wants_helper for path in paths) < _LEAST:
            continue
        contexts = []
        for path in paths:
            source = selecting[path].source
            contexts.append(Context(source, source.parse(), settings))

        def are_enough(group: list[Context]) -> bool:
            wanting = [one for one in group if selecting[one.source.path].wants_helper]
            return len(wanting) >= _LEAST

        for helper, root, group in _groups(contexts, settings, are_enough):
            sharing = settings._replace(helper_module=helper, helper_root=root)
            try:
                project = project_of(sharing, {})
            except MpslintError:  # outside of the settings' folder
                continue
            name = os.path.splitext(os.path.relpath(helper, root))[0].replace(os.sep, ".")
            able = [one for one in group if project.helper_name(one) == name]
            if are_enough(able):
                found.update((one.source.path, sharing) for one in able)
    return found


def _groups(
    contexts: list[Context], settings: Settings, are_enough: Callable[[list[Context]], bool]
) -> Iterator[tuple[str, str, list[Context]]]:
    """The helpers to make, each with the folder that names start at and the files that can import
    it from there. Two names for one module are two ideas of where a program starts."""
    top = os.path.abspath(settings.root or ".")
    modules = _modules_below(top)
    linked = linked_below(top)

    @lru_cache(_MOST_READ)
    def read(path: str) -> Context | None:
        try:
            source = SourceFile(path, read_regular(path, _MAX_BYTES))
            return Context(source, source.parse(), settings)
        except (OSError, MpslintError):
            return None

    able = [one for one in contexts if _is_module(one) and not is_found_two_ways(one)]
    left = {one: _places(one, contexts, top, modules, read) for one in able}
    while are_enough(list(left)):
        best: tuple[str, str, list[Context]] | None = None
        # Of those of one length by name: a set gives them in another order each time.
        roots = sorted({root for one in left.values() for root in one.roots})
        roots.sort(key=len, reverse=True)
        packages = sorted({name for one in left.values() for name in one.packages})
        packages.sort(key=len)
        # Rather in the package that most of them are in than beside it.
        within = [name for name in packages if _most_are_in(name, _knowing(name, left))]
        for start in dict.fromkeys((*within, *roots, *packages)):
            root = start if start in roots else os.path.dirname(start)
            group = [
                one
                for one, known in left.items()
                if (root in known.roots or (start != root and start in known.packages))
                and (start == root or _imports_anyway(one, start, top))
            ]
            if best is None or len(group) > len(best[2]):
                helper = _place(start, group) if are_enough(group) else None
                if helper is not None:
                    group = [one for one in group if not is_cut_off(_path(one), helper, linked)]
                    if are_enough(group) and (best is None or len(group) > len(best[2])):
                        best = helper, root, group
        if best is None:
            return
        yield best
        left = {one: known for one, known in left.items() if one not in best[2]}


def _path(context: Context) -> str:
    return os.path.abspath(context.source.path)


def _imports_anyway(context: Context, package: str, top: str) -> bool:
    """Whether a file is in a package, or imports it itself. To others its `__init__.py`, and all
    that this imports, would come with the helper, and these may import them."""
    if _path(context).startswith(package + os.sep):
        return True
    return any(one.top == package for one in imports_shown(context, top))


def _knowing(package: str, files: Mapping[Context, Places]) -> list[Context]:
    return [one for one, known in files.items() if package in known.packages]


def _most_are_in(package: str, files: Iterable[Context]) -> bool:
    """Whether several of the files that can import a package are its own, and no more are not."""
    inside = [_path(one).startswith(package + os.sep) for one in files]
    return sum(inside) > 1 and 2 * sum(inside) >= len(inside)


def _is_module(context: Context) -> bool:
    return not context.source.path.endswith(".ipynb")


def _places(
    context: Context,
    contexts: list[Context],
    top: str,
    modules: Mapping[str, _Module],
    read: Callable[[str], Context | None],
) -> Places:
    others = [one for one in contexts if one is not context]
    importers = [one for path in _importers(context, contexts, modules) if (one := read(path))]
    above = _is_imported(context, modules)
    return places(context, others, importers, top, is_imported_from_above=above)


def _importers(
    context: Context, contexts: list[Context], modules: Mapping[str, _Module]
) -> list[str]:
    """Other files of the project that import this one, or what it is a part of: they show where
    its name starts."""
    own = os.path.abspath(context.source.path)
    known = {own, *(os.path.abspath(one.source.path) for one in contexts)}
    words = frozenset(os.fsencode(name) for name in _names_of(own))
    found = [
        path
        for path, module in modules.items()
        if path not in known and path.endswith(".py") and not words.isdisjoint(module.words)
    ]
    nearest = sorted(found, key=lambda path: (-len(os.path.commonpath([path, own])), path))
    return nearest[:_MOST_IMPORTERS]


def _names_of(path: str) -> Iterator[str]:
    """By what a file is imported: its own name, or that of its package, and what these are in."""
    folder, file = os.path.split(path)
    if file != "__init__.py":
        yield os.path.splitext(file)[0]
    yield os.path.basename(folder)
    within = os.path.relpath(folder, package_root(path)).split(os.sep)[0]
    if within != os.curdir:
        yield within


def _is_imported(context: Context, modules: Mapping[str, _Module]) -> bool:
    """Whether some module of the project may import a file by a name that its folder is part of; or
    would, if it imported the file at all: nothing shows that one starts in its folder."""
    path = os.path.abspath(context.source.path)
    folder, name = os.path.split(path)
    stem, around = os.path.splitext(name)[0].encode(), os.path.basename(folder).encode()
    others = {other: known for other, known in modules.items() if other != path}
    namers = [known for known in others.values() if stem in known.words]
    if namers or _is_started(context):
        return any(around in known.words for known in namers)
    if folder == os.path.abspath(context.settings.root or "."):
        return False
    beside = {other for other in others if os.path.dirname(other) == folder}
    if any(around in others[other].words for other in others.keys() - beside):
        return True
    return not any(others[other].is_program for other in beside)


def _is_started(context: Context) -> bool:
    """Whether a file does more than to define something."""
    return any(
        not isinstance(item, _DEFINING)
        and not (isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant))
        for item in context.tree.body
    )


def _modules_below(top: str) -> dict[str, _Module]:
    found = {}
    for path in files_below(top, lambda folder: not os.path.basename(folder).startswith(".")):
        if path.endswith((".py", ".ipynb")):
            try:
                data = read_regular(path, _MAX_BYTES)
            except OSError:
                continue
            # In a notebook each line of code is a string.
            words = imported_words(data.replace(b'"', b""))
            found[path] = _Module(words, MAIN.search(data) is not None)
            if len(found) == _MOST_FILES:
                break
    return found


def _place(start: str, group: list[Context]) -> str | None:
    """The file to make: in the folder below `start` that holds all others, under a name that is
    free where they look for it."""
    own = [os.path.dirname(os.path.abspath(one.source.path)) for one in group]
    folder = os.path.commonpath(own)
    if os.path.commonpath([folder, start]) != start:
        folder = start
    for name in _NAMES:
        stem = os.path.splitext(name)[0]
        taken = [os.path.join(one, stem) for one in (folder, *own)]
        if not any(os.path.lexists(one) or os.path.lexists(f"{one}.py") for one in taken):
            return os.path.join(folder, name)
    return None
