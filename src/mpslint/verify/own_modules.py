"""Where the project's own module may be that a run did not find: nobody can install that."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.folders import gitignore

_NOT_FOUND = re.compile(r"No module named '([\w.]+)'")
_NOT_IN_IT = re.compile(r"cannot import name '(\w+)' from (?:[\w ]+ )?'([\w.]+)' \((.+)\)$")
INSTALL = "install it for that Python, or name one that has it with --python"
_MAY_BE = f"so that it may be the project's own; else {INSTALL}"
_MOST = 2000
"""So many folders of a project are looked through."""
_NOBODYS = frozenset({"site-packages", "dist-packages", "node_modules", "__pycache__"})


def way_out(error: Mapping[str, Any] | None, root: str, script: str) -> str:
    """What to do about a module that an error misses, where the project speaks for one of its own;
    empty: it does not."""
    if error is None:
        return ""
    message, home = str(error["message"]), os.path.dirname(script)
    if error["type"] == "ModuleNotFoundError":
        found = _NOT_FOUND.match(message)
        return _missing(found[1], root, home) if found else ""
    found = _NOT_IN_IT.match(message) if error["type"] == "ImportError" else None
    if found is None:
        return ""
    name, module, file = found.groups()
    if not os.path.isabs(file):
        # A folder without `__init__.py` lies in no place that Python would name.
        return _missing(f"{module}.{name}", root, home)
    if os.path.realpath(file).startswith(os.path.join(root, "")):
        return f"{_below(root, os.path.realpath(file))}, the project's own, has no `{name}`"
    return ""


def _missing(name: str, root: str, home: str) -> str:
    top, *parts = name.split(".")
    for base in dict.fromkeys((home, root)):
        there = next(filter(os.path.exists, _files(os.path.join(base, top))), None)
        if there is not None:
            shown = _below(root, there)
            if not parts:
                return f"there is {shown}, which was left out of the copy"
            if os.path.isdir(there) and not _holds_code(there):
                return f"there is {shown}, without any code in it, {_MAY_BE}"
            left_out = ", which .gitignore leaves out" if _is_ignored(base, top, *parts) else ""
            return f"it is the project's own: there is {shown}, but no `{name}`{left_out}"
        if _is_ignored(base, top):
            return f".gitignore leaves `{top}` out, {_MAY_BE}"
    found = next(_elsewhere(root, top), None)
    if found is not None:
        return f"there is {_below(root, found)}, where this script does not look, {_MAY_BE}"
    return ""


def _files(module: str) -> tuple[str, str]:
    return module, f"{module}.py"


def _below(root: str, path: str) -> str:
    return os.path.relpath(path, root).replace(os.sep, "/")


def _is_ignored(*parts: str) -> bool:
    module = os.path.join(*parts)
    above = gitignore.above(os.path.dirname(module), _say_nothing)
    ignores = gitignore.extended(above, os.path.dirname(module), _say_nothing)
    if ignores is None:
        return False
    folder, file = _files(module)
    return ignores.ignored(folder, True) or ignores.ignored(file, False)


def _say_nothing(_warning: str) -> None:
    """An ignore file that cannot be read leaves nothing out."""


def _elsewhere(root: str, top: str) -> Iterator[str]:
    """Modules of this name below a folder, the nearest first."""
    todo = [root]
    for folder in todo:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.name == f"{top}.py" or (entry.name == top and _holds_code(entry.path)):
                yield entry.path
            if len(todo) < _MOST and entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith(".") and entry.name not in _NOBODYS:
                    todo.append(entry.path)


def _holds_code(folder: str) -> bool:
    try:
        return any(name.endswith(".py") for name in os.listdir(folder))
    except OSError:
        return False
