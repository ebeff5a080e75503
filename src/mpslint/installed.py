"""Which modules of a project others get when they install it, by what its `setup.py` says."""

from __future__ import annotations

import ast
import os

_OTHER_WORDS = (b"packages", b"py_modules", b"py-modules", b"[project]", b"build-backend")
"""What in another file of the build says what is installed, or lets another tool find it."""
_FINDING = frozenset({"include", "exclude"})
"""Arguments of `find_packages` that leave it where it begins."""
_GIVING = frozenset({"py_modules", "package_dir", "package_data", "scripts", "cmdclass"})


def is_left_out(head: str, path: str) -> bool:
    """Whether the module at `path` is certainly not among what the project at `head` installs:
    `setup(packages=find_packages())` takes packages alone, and looks into none that has no
    `__init__.py`."""
    for name in ("pyproject.toml", "setup.cfg"):
        text = _read(os.path.join(head, name))
        if text is None or any(word in text for word in _OTHER_WORDS):
            return False
    if not _finds_packages(_read(os.path.join(head, "setup.py"))):
        return False
    folder = os.path.dirname(path)
    if folder == head:
        return True
    while folder != head and folder != os.path.dirname(folder):
        if not os.path.isfile(os.path.join(folder, "__init__.py")):
            return True
        folder = os.path.dirname(folder)
    return False


def _finds_packages(text: bytes | None) -> bool:
    """Whether a `setup.py` installs what `find_packages` finds beside it, and nothing else."""
    try:
        tree = ast.parse(text or b"")
    except (SyntaxError, ValueError):
        return False
    calls = [item for item in ast.walk(tree) if isinstance(item, ast.Call)]
    made = [call for call in calls if _name(call.func) == "setup"]
    if len(made) != 1:
        return False
    given = {keyword.arg: keyword.value for keyword in made[0].keywords}
    found = given.get("packages")
    if None in given or not _GIVING.isdisjoint(given) or not isinstance(found, ast.Call):
        return False
    return (
        _name(found.func) == "find_packages"
        and not found.args
        and all(keyword.arg in _FINDING for keyword in found.keywords)
    )


def _name(function: ast.expr) -> str:
    return ast.unparse(function).rpartition(".")[2]


def _read(path: str) -> bytes | None:
    """The text of a file; empty where there is none, None where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""
    except OSError:
        return None
