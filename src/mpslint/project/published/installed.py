"""Which modules of a project others get when they install it, by what its `setup.py` or its
`pyproject.toml` says."""

from __future__ import annotations

import ast
import os
import sys
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from mpslint.records import NamedTuple
from mpslint.semantics.syntax.expressions import last_name

if TYPE_CHECKING:
    from typing import TypeGuard

_OTHER_WORDS = (b"packages", b"py_modules", b"py-modules", b"[project]", b"build-backend")
"""What in another file of the build says what is installed, or lets another tool find it."""
_FINDING = frozenset({"include", "exclude"})
"""Arguments of `find_packages` that leave it where it begins."""
_ELSEWHERE = frozenset({"py-modules", "package-dir"})
"""What else setuptools may be told of where modules are."""
_MOST_PARTS = 32
"""A key of very many parts takes the reader of TOML very long."""
_GIVING = frozenset({"py_modules", "package_data", "scripts", "cmdclass"})
"""Arguments of `setup` by which it may install other modules."""


def is_left_out(head: str, path: str) -> bool:
    """Whether the module at `path` is certainly not among what the project at `head` installs:
    `setup(packages=find_packages())` takes packages alone, and looks into none that has no
    `__init__.py`; of a list that is written out those are taken that it names. A
    `[tool.setuptools.packages.find]` takes what it includes, where it looks."""
    if _is_beside_found(head, path):
        return True
    for name in ("pyproject.toml", "setup.cfg"):
        text = _read(os.path.join(head, name))
        if text is None or any(word in text for word in _OTHER_WORDS):
            return False
    packages = _packages(_read(os.path.join(head, "setup.py")))
    if packages is None:
        return False
    folder = os.path.dirname(path)
    if folder == head:
        return True
    if packages.listed is not None:
        # Whoever works with a checkout has what lies below a package, be it forgotten there.
        places = (os.path.normpath(os.path.join(head, one)) for one in packages.listed)
        return not any(folder == one or folder.startswith(one + os.sep) for one in places)
    name = os.path.relpath(folder, head).replace(os.sep, ".")
    if any(fnmatchcase(name, pattern) for pattern in packages.excluded):
        return True
    while folder != head and folder != os.path.dirname(folder):
        if not os.path.isfile(os.path.join(folder, "__init__.py")):
            return True
        folder = os.path.dirname(folder)
    return False


def _is_beside_found(head: str, path: str) -> bool:
    """Whether a `pyproject.toml` has setuptools find packages elsewhere than at `path`, and by
    other names, and no other file of the build says more."""
    finding = _finding(_read(os.path.join(head, "pyproject.toml")))
    if finding is None:
        return False
    for name in ("setup.cfg", "setup.py"):
        text = _read(os.path.join(head, name))
        if text is None or b"packages" in text or b"py_modules" in text:
            return False
    wheres, include = finding.get("where", ["."]), finding.get("include", ["*"])
    if not _are_texts(wheres) or not _are_texts(include):
        return False
    for where in wheres:
        place = os.path.relpath(os.path.dirname(path), os.path.join(head, where))
        if place.split(os.sep)[0] == os.pardir or place == os.curdir:
            continue
        package = place.replace(os.sep, ".")
        if any(fnmatchcase(package, pattern) for pattern in include):
            return False
    return True


def _finding(text: bytes | None) -> dict[str, object] | None:
    """What `[tool.setuptools.packages.find]` says, where setuptools is told no more of modules."""
    if not text or b"packages.find" not in text:
        return None
    told = _table(text)
    for key in ("tool", "setuptools"):
        told = told.get(key) if isinstance(told, dict) else None
    if not isinstance(told, dict) or not _ELSEWHERE.isdisjoint(told):
        return None
    packages = told.get("packages")
    found = packages.get("find") if isinstance(packages, dict) else None
    return found if isinstance(found, dict) else None


def _table(text: bytes) -> object:
    if any(row.partition(b"=")[0].count(b".") > _MOST_PARTS for row in text.split(b"\n")):
        return None
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text.decode("utf-8"))
    except (ValueError, RecursionError):
        return None


def _are_texts(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


class _Packages(NamedTuple):
    """Those that a `setup.py` names."""

    listed: tuple[str, ...] | None = None
    """Their folders, where they are written out; None: all that are found."""
    excluded: tuple[str, ...] = ()
    """Patterns of those that are not, though they would be found."""


def _packages(text: bytes | None) -> _Packages | None:
    """The packages that a `setup.py` installs, and nothing else; None: it may install more."""
    try:
        tree = ast.parse(text or b"")
    except (SyntaxError, ValueError):
        return None
    calls = [item for item in ast.walk(tree) if isinstance(item, ast.Call)]
    made = [call for call in calls if last_name(call.func) == "setup"]
    if len(made) != 1:
        return None
    given = {keyword.arg: keyword.value for keyword in made[0].keywords}
    found = given.get("packages")
    if None in given or not _GIVING.isdisjoint(given):
        return None
    places = given.get("package_dir", ast.Dict([], []))
    if isinstance(found, ast.List | ast.Tuple):
        return _listed(_literal(found), _literal(places))
    if "package_dir" in given or not isinstance(found, ast.Call):
        return None
    if last_name(found.func) != "find_packages" or found.args:
        return None
    if not all(keyword.arg in _FINDING for keyword in found.keywords):
        return None
    told = {keyword.arg: keyword.value for keyword in found.keywords}
    excluded = _literal(told.get("exclude"))
    patterns = list(excluded) if isinstance(excluded, list | tuple) else []
    return _Packages(excluded=tuple(patterns) if _are_texts(patterns) else ())


def _listed(packages: object, places: object) -> _Packages | None:
    """The folders of packages that are written out: `package_dir` says where some of them, or all
    from the root (the empty name), lie."""
    names = list(packages) if isinstance(packages, list | tuple) else None
    if not _are_texts(names) or not isinstance(places, dict):
        return None
    if not _are_texts([*places, *places.values()]):
        return None
    return _Packages(tuple(_folder(name, places) for name in names))


def _folder(package: str, places: dict[str, str]) -> str:
    # Fact: distutils looks for the nearest package around one that `package_dir` has.
    inner: list[str] = []
    around = package
    while around and around not in places:
        around, _, last = around.rpartition(".")
        inner.insert(0, last)
    return os.path.join(places.get(around, "."), *inner)


def _literal(node: ast.expr | None) -> object:
    """What an expression is, where it is written out; None where it is not."""
    try:
        return None if node is None else ast.literal_eval(node)
    except (ValueError, TypeError, MemoryError, RecursionError):
        return None


def _read(path: str) -> bytes | None:
    """The text of a file; empty where there is none, None where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""
    except OSError:
        return None
