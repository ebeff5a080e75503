"""From where a file of a project demonstrably imports: what stands in `sys.path` whenever it runs.

A program has its own folder there, and nothing of what lies above. What else is there its imports
show, or those by which others import it. A package that may be installed shows only itself: whoever
imports it need not have the folder that it lies in.
"""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING

from mpslint.project.layout.added_folders import WORD, added_folders
from mpslint.project.layout.import_texts import MAIN
from mpslint.project.layout.modules import package_root
from mpslint.records import NamedTuple
from mpslint.sources.files import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mpslint.semantics.context import Context

_INSTALLING: dict[str, tuple[bytes, ...]] = {
    "setup.py": (b"",),
    "setup.cfg": (b"[metadata]", b"[options]"),
    "pyproject.toml": (b"[project]", b"[build-system]", b"[tool.poetry]", b"[tool.flit"),
}
"""Files of a project that let it be installed, where they say any of this: others only hold
settings of tools."""
_MAX_BYTES = 1 << 20
_SIMPLE = (ast.Assign, ast.AugAssign, ast.Expr)
"""Statements at the top of a file that run whenever it does."""


class Import(NamedTuple):
    """A module of the project as a file imports it by its full name."""

    root: str
    """The folder that Python finds it in."""
    name: str

    @property
    def top(self) -> str:
        return os.path.join(self.root, self.name.partition(".")[0])


class Places(NamedTuple):
    """Where a file can import a new module from."""

    roots: frozenset[str]
    """Folders of `sys.path`."""
    packages: frozenset[str]
    """Folders of packages that it can import, wherever they are installed."""


def imports_shown(context: Context, top: str) -> list[Import]:
    """The modules of the project below the folder `top` that a file imports by their full names,
    each from the nearest folder that has it: that is the one its program starts from."""
    known = context.memo.setdefault(f"imports shown below {top}", [])
    assert isinstance(known, list)
    if not known:  # Each file that wants a helper asks it of all others.
        known.append(_imports_shown(context, top))
    return list(known[0])


def _imports_shown(context: Context, top: str) -> list[Import]:
    path = os.path.abspath(context.source.path)
    folders = [*_searched(path, top), *_put_on_path(context, path, top)]
    found: dict[Import, None] = {}
    for name, taken in _absolute(context):
        root = next((one for one in folders if _holds(one, name, taken)), None)
        if root is not None:
            found[Import(root, name)] = None
    return list(found)


def places(
    context: Context,
    others: Sequence[Context],
    importers: Sequence[Context],
    top: str,
    *,
    is_imported_from_above: bool,
) -> Places:
    """What all imports show of a file, its own and those of `others`, of which those beside it are
    taken to be its like; `importers` only show by which name they import it.

    `is_imported_from_above`: its folder is the part of a name by which a module imports it.
    """
    path = os.path.abspath(context.source.path)
    folder = os.path.dirname(path)
    in_package = is_package(folder)
    shown = [(one, folder) for one in imports_shown(context, top)]
    relatively = _looks_around(context)
    if MAIN.search(context.source.text.encode("utf-8", "replace")) is None:
        around: list[tuple[Import, str]] = []
        named = any(_names_beside(other, path) for other in (*others, *importers))
        for other in (*others, *importers):
            away = os.path.dirname(os.path.abspath(other.source.path))
            imports = imports_shown(other, top)
            if away == folder and other in others:
                # What nobody imports is started by itself, whatever those beside it are.
                relatively = relatively or (bool(importers) and _looks_around(other))
                shown += [(one, away) for one in imports]
                continue
            relatively = relatively or _names_beside(other, path)
            around += [
                (one, away)
                for one in imports
                if _leads_to(one, path)
                or (in_package and _is_around(one, path))
                or (named and is_part_of_name(one, folder))
            ]
        # Two names for one file: nobody knows by which one it will be imported.
        if len({one.root for one, _ in around}) == 1:
            shown += around
    roots = {one.root for one, away in shown if _is_whole(one, None if in_package else away)}
    packages = {one.top for one, _ in shown if is_package(one.top)}
    if in_package and relatively:
        root = package_root(path)
        first = os.path.relpath(folder, root).split(os.sep)[0]
        packages.add(os.path.join(root, first))
    # Part of a name, a folder is no place that names start at.
    inside = any(is_part_of_name(one, folder) for one, _ in shown)
    if not in_package and not inside and not is_imported_from_above:
        roots.add(folder)
    return Places(frozenset(roots), frozenset(packages))


def is_found_two_ways(context: Context) -> bool:
    """Whether a file takes names from a module beside it where it does not find them in a package:
    it is started from two folders, and an import of another module would fit one of them."""
    folder = os.path.dirname(os.path.abspath(context.source.path))
    return any(
        isinstance(item, ast.ImportFrom)
        and not item.level
        and os.path.isfile(os.path.join(folder, f"{item.module}.py"))
        for tried in context.tree.body
        if isinstance(tried, ast.Try)
        for handler in tried.handlers
        for item in handler.body
    )


def is_package(folder: str) -> bool:
    return os.path.isfile(os.path.join(folder, "__init__.py"))


def is_part_of_name(one: Import, folder: str) -> bool:
    """Whether an import names something in the folder by way of the folder's own name."""
    if one.root == folder or not _is_below(folder, one.root):
        return False
    dotted = os.path.relpath(folder, one.root).replace(os.sep, ".")
    return f"{one.name}.".startswith(f"{dotted}.")


def _searched(path: str, top: str) -> Iterator[str]:
    """The folders a program that runs the file may start from, the likeliest first."""
    folder = os.path.dirname(path)
    root = package_root(path)
    while True:
        yield root
        parent = os.path.dirname(root)
        if root == top or parent == root or not _is_below(root, top):
            break
        root = parent
    yield os.path.join(top, "src")
    yield folder


def _put_on_path(context: Context, path: str, top: str) -> list[str]:
    """The folders of the project that a file puts on `sys.path` itself, whenever it is run."""
    if WORD not in context.source.data:
        return []
    always: list[ast.stmt] = [item for item in context.tree.body if isinstance(item, _SIMPLE)]
    added = added_folders(ast.Module(always, []), path, (top,))
    return [folder for folder in added if _is_below(folder, top)]


def _is_below(folder: str, top: str) -> bool:
    return os.path.commonpath([folder, top]) == top


def _holds(root: str, name: str, taken: str = "") -> bool:
    """Whether a folder has the module of this name; of a name in a module, the module counts. A
    folder without `__init__.py` alone is none: installed packages go before it. `taken` is what is
    taken from a module: one that does not know it is another of the same name."""
    base = os.path.join(root, *name.split("."))
    above = os.path.dirname(base)
    if taken and name.rpartition(".")[2] != taken:
        return _is_module_at(base) and _knows(base, taken)
    if _is_module_at(base):
        return True
    return above != root and _is_module_at(above) and (not taken or _knows(above, taken))


def _is_module_at(base: str) -> bool:
    return os.path.isfile(f"{base}.py") or is_package(base)


def _knows(base: str, taken: str) -> bool:
    """Whether a module has a name, as far as its text tells: it may be of a star import."""
    if _is_module_at(os.path.join(base, taken)):
        return True
    path = f"{base}.py" if os.path.isfile(f"{base}.py") else os.path.join(base, "__init__.py")
    try:
        text = read_regular(path, _MAX_BYTES)
    except OSError:
        return True
    return taken.encode() in text or b"import *" in text or b"__getattr__" in text


def _is_whole(one: Import, folder: str | None) -> bool:
    """Whether all of the root can be imported where this is: a package that its project installs
    says nothing of what lies beside it, but to programs of the `folder` that it lies in."""
    if one.root == folder or not os.path.isdir(one.top):
        return True
    around = (one.root, os.path.dirname(one.root))
    return not any(_is_installed(up) for up in around)


def _is_installed(folder: str) -> bool:
    for name, words in _INSTALLING.items():
        path = os.path.join(folder, name)
        if not os.path.isfile(path):
            continue
        try:
            text = read_regular(path, _MAX_BYTES)
        except OSError:
            return True
        if any(word in text for word in words):
            return True
    return False


def _leads_to(one: Import, path: str) -> bool:
    """Whether an import is of this file, or of a name in it."""
    dotted = os.path.splitext(os.path.relpath(path, one.root))[0].replace(os.sep, ".")
    return f"{one.name}.".startswith(f"{dotted.removesuffix('.__init__')}.")


def _is_around(one: Import, path: str) -> bool:
    """Whether an import is of the package that this file is in, whatever part of that it names."""
    return package_root(path) == one.root and _is_below(os.path.dirname(path), one.top)


def _names_beside(other: Context, path: str) -> bool:
    """Whether a file beside this one imports it as a part of whatever both are in."""
    folder, file = os.path.split(path)
    if os.path.dirname(os.path.abspath(other.source.path)) != folder:
        return False
    stem = os.path.splitext(file)[0]
    return any(
        item.level == 1
        and (item.module == stem if item.module else any(a.name == stem for a in item.names))
        for item in other.index.of(ast.ImportFrom)
    )


def _looks_around(context: Context) -> bool:
    return any(item.level for item in context.index.of(ast.ImportFrom))


def _absolute(context: Context) -> list[tuple[str, str]]:
    """The modules that are imported, each also with the names that are taken from it; and a name
    that it must have."""
    found = [(alias.name, "") for item in context.index.of(ast.Import) for alias in item.names]
    for item in context.index.of(ast.ImportFrom):
        if not item.level and item.module:
            taken = [alias.name for alias in item.names if alias.name != "*"]
            found += [(f"{item.module}.{name}", name) for name in taken]
            found.append((item.module, taken[0] if taken else ""))
    return found
