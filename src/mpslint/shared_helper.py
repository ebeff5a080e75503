"""One function that selects the device, for a project of which several files would get a copy.

A selection that is written into one file or two is easier to read than a module of its own; from
the third on a maintainer would ask for a helper. It is made beside the files, where they can import
it, and used as the setting `helper-module` has it.
"""

from __future__ import annotations

import ast
import os
from collections import Counter
from typing import TYPE_CHECKING

from mpslint.errors import MpslintError
from mpslint.project import lies_in
from mpslint.semantics.context import Context

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mpslint.fixer import Made
    from mpslint.project import Project
    from mpslint.settings import Settings
    from mpslint.source import SourceFile

_LEAST = 3
"""So many files must be able to use it."""
_NAMES = ("device.py", "devices.py", "torch_device.py")
_SELECTS = ("cuda.is_available()", "backends.mps.is_available()", "cpu")
"""What all stands in the text of a selection."""
_INSTALLED = ("setup.py", "setup.cfg", "pyproject.toml")


def selects_anew(made: Made) -> bool:
    """Whether fixes have written a selection into a text that had none there."""
    return any(
        not edit.expect and all(word in edit.text for word in _SELECTS)
        for edits in made.passes
        for edit in edits
    )


def shared(
    selecting: Mapping[str, tuple[SourceFile, Settings]],
    project_of: Callable[[Settings, dict[str, bytes]], Project],
) -> dict[str, Settings]:
    """For files that would get a selection each the settings by which they share one; empty where
    they are few, or have no folder in common that they can import it from."""
    found: dict[str, Settings] = {}
    by_settings: dict[Settings, list[str]] = {}
    for path, (_, settings) in selecting.items():
        if settings.style == "inline" and settings.helper_module is None:
            by_settings.setdefault(settings, []).append(path)
    for settings, paths in by_settings.items():
        helper = _place(paths) if len(paths) >= _LEAST else None
        if helper is None:
            continue
        sharing = settings._replace(helper_module=helper)
        try:
            project = project_of(sharing, {})
        except MpslintError:  # outside of the settings' folder
            continue
        contexts = []
        for path in paths:
            source = selecting[path][0]
            contexts.append(Context(source, source.parse(), sharing, project))
        names = {one.source.path: _imported_as(one, contexts, project, helper) for one in contexts}
        # Two names for one module are two ideas of where a program of the project starts.
        known = Counter(name for name in names.values() if name is not None)
        usual = known.most_common(1)[0][0] if known else None
        able = [path for path in paths if usual is not None and names[path] == usual]
        if len(able) >= _LEAST:
            found.update(dict.fromkeys(able, sharing))
    return found


def _place(paths: Iterable[str]) -> str | None:
    """The file to make: in the folder that holds all others, under a name that is free."""
    folder = os.path.commonpath([os.path.dirname(os.path.abspath(path)) for path in paths])
    for name in _NAMES:
        stem = os.path.join(folder, os.path.splitext(name)[0])
        if not os.path.lexists(stem) and not os.path.lexists(f"{stem}.py"):
            return f"{stem}.py"
    return None


def _imported_as(
    context: Context, others: Iterable[Context], project: Project, helper: str
) -> str | None:
    """The name by which a file can import the helper wherever it is itself; None for none.

    A package that is installed has nothing of what lies above it; and where a program's modules
    start is known for the folder of the file itself, and where imports of the files show it.
    """
    path = os.path.abspath(context.source.path)
    own, folder = os.path.dirname(path), os.path.dirname(helper)
    if path.endswith(".ipynb"):
        return None
    if _in_package(own) and not _in_package(folder):
        if any(os.path.lexists(os.path.join(folder, name)) for name in _INSTALLED):
            return None
    name = project.helper_name(context)
    if name is None:
        return None
    root = folder
    for _ in range(name.count(".")):
        root = os.path.dirname(root)
    if root == own and not _in_package(own):
        return name
    return name if _is_known_from(context, others, root) else None


def _is_known_from(context: Context, others: Iterable[Context], root: str) -> bool:
    """Whether a program that runs this file has `root` among its import roots, as imports show: its
    own, those of a file beside it, or one by which another file imports it. A folder of scripts
    that is entered to run them has nothing of what lies above, an `__init__.py` or none."""
    path = os.path.abspath(context.source.path)
    folder = os.path.dirname(path)
    dotted = os.path.splitext(os.path.relpath(path, root))[0].replace(os.sep, ".")
    return any(
        (os.path.dirname(os.path.abspath(other.source.path)) == folder and _starts_at(other, root))
        or any(f"{name}.".startswith(f"{dotted}.") for name in _imported(other))
        for other in (context, *others)
    )


def _starts_at(context: Context, root: str) -> bool:
    """Whether a file imports what only `root` can give it, or by its place in a package."""
    folder = os.path.dirname(os.path.abspath(context.source.path))
    if any(item.level for item in context.index.of(ast.ImportFrom)):
        return _in_package(folder)
    tops = {name.partition(".")[0] for name in _imported(context)}
    return any(lies_in(root, top) and not lies_in(folder, top) for top in tops if top)


def _imported(context: Context) -> Iterable[str]:
    return [
        binding.qualified
        for _, binding in context.names.every_binding()
        if binding.kind == "import" and binding.qualified
    ]


def _in_package(folder: str) -> bool:
    return os.path.isfile(os.path.join(folder, "__init__.py"))
