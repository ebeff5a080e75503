"""What stands in `sys.path` while a file runs: the root of its package, the project's folders, and
those that it adds, as its own text says.

What is added is worked out from `__file__`, texts and the functions of `os.path` and `pathlib` that
only join and part paths. A path that starts nowhere starts where the program does, which is the
file's own folder or the project's topmost one. Nothing is run.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from mpslint.errors import MpslintError

if TYPE_CHECKING:
    from mpslint.settings import Settings
    from mpslint.trees import Trees

_SAYS = b"sys.path"
"""What stands in each text that adds a folder."""
# Fact: Python's grammar, the test by which a module knows that it is the program.
MAIN = re.compile(rb"^if[ \t(]+__name__[ \t]*==", re.M)
_ADDS = {"append": 0, "insert": 1, "extend": 0}
"""Methods of a list that add to it, and which of their arguments says what."""
_SAME = frozenset({"abspath", "realpath", "normpath", "expanduser", "resolve", "absolute", "str"})
"""Functions and methods that give the path that they are given, for us."""
_SAME |= frozenset({"Path", "PurePath", "PosixPath", "fspath", "as_posix"})
_START = frozenset({"getcwd", "cwd"})
_DEPTH = 20
"""So many names and calls are followed from one path."""


class SearchPath:
    def __init__(
        self, settings: Settings, text_of: Callable[[str], bytes | None], trees: Trees
    ) -> None:
        top = os.path.abspath(settings.root or ".")
        self._top = top
        self._of_project = (top, os.path.join(top, "src"))
        self._text_of = text_of
        self._trees = trees
        self._roots: dict[str, str] = {}
        self._scripts: dict[str, bool] = {}
        self._added: dict[str, tuple[str, ...]] = {}

    def place_of(self, path: str) -> tuple[object, ...]:
        """What settles where a file finds modules: those of which it is the same find the same."""
        return os.path.dirname(path), self._is_script_of_package(path), self._added_by(path)

    def folders(self, path: str) -> list[str]:
        """The folders in which the file at `path` looks for absolute names."""
        own = [os.path.dirname(path)] if self._is_script_of_package(path) else []
        return [*own, *self.roots(path), *self._added_by(path)]

    def roots(self, path: str) -> list[str]:
        """Those of them that are there without its doing, each once."""
        folder = os.path.dirname(path)
        if folder not in self._roots:
            self._roots[folder] = package_root(path)
        return list(dict.fromkeys([self._roots[folder], *self._of_project]))

    def _is_script_of_package(self, path: str) -> bool:
        """Whether a file is a program that lies in a package: who starts it by its path has its own
        folder first in `sys.path`, so that it imports its neighbours as if they were no package's.
        """
        if path not in self._scripts:
            in_package = self.roots(path)[0] != os.path.dirname(path)
            self._scripts[path] = in_package and MAIN.search(self._text_of(path) or b"") is not None
        return self._scripts[path]

    def _added_by(self, path: str) -> tuple[str, ...]:
        if path not in self._added:
            self._added[path] = ()
            data = self._text_of(path) or b""
            if _SAYS in data:
                try:
                    tree = self._trees.read(path, data)[1]
                except (MpslintError, RecursionError):
                    return ()
                self._added[path] = added_folders(tree, path, self._top)
        return self._added[path]


def added_folders(tree: ast.Module, path: str, top: str) -> tuple[str, ...]:
    """The folders below `top` that the module at `path` adds, those that are found first first."""
    values = _Values(tree, path)
    found: dict[str, None] = {}
    for given in _given(tree.body):
        said = values.of(given)
        if said is None:
            continue
        for start in (os.path.dirname(path), top):
            folder = os.path.normpath(os.path.join(start, said))
            if os.path.commonpath([folder, top]) == top and os.path.isdir(folder):
                found[folder] = None
                break
    return tuple(found)


def package_root(path: str) -> str:
    """The folder that must be on `sys.path` for the file to be imported (or run) as it is."""
    folder = os.path.dirname(os.path.abspath(path))
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        parent = os.path.dirname(folder)
        if parent == folder:
            break
        folder = parent
    return folder


def _given(body: list[ast.stmt]) -> Iterator[ast.expr]:
    """What the module adds when it is imported, or started."""
    for statement in body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            function, args = statement.value.func, statement.value.args
            if isinstance(function, ast.Attribute) and _is_path(function.value):
                at = _ADDS.get(function.attr, len(args))
                yield from (item for arg in args[at : at + 1] for item in _items(arg))
        elif isinstance(statement, ast.AugAssign) and _is_path(statement.target):
            yield from _items(statement.value)
        elif isinstance(statement, ast.If | ast.For | ast.With | ast.Try):
            yield from _given(statement.body)
            for name in ("orelse", "finalbody"):
                yield from _given(getattr(statement, name, []))


def _is_path(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "path"
        and isinstance(node.value, ast.Name)
        and node.value.id == "sys"
    )


def _items(node: ast.expr) -> list[ast.expr]:
    return list(node.elts) if isinstance(node, ast.List | ast.Tuple) else [node]


class _Values:
    """What paths the expressions at the top of a module stand for."""

    def __init__(self, tree: ast.Module, path: str) -> None:
        self._path = path
        self._assigned: dict[str, ast.expr | None] = {}
        for statement in tree.body:
            if isinstance(statement, ast.Assign):
                for target in statement.targets:
                    for name in ast.walk(target):
                        if isinstance(name, ast.Name):
                            once = name is target and name.id not in self._assigned
                            self._assigned[name.id] = statement.value if once else None

    def of(self, node: ast.expr | None, depth: int = 0) -> str | None:
        if depth > _DEPTH or node is None:
            return None
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else None
        if isinstance(node, ast.Name):
            if node.id == "__file__":
                return self._path
            return self.of(self._assigned.get(node.id), depth + 1)
        if isinstance(node, ast.Call):
            return self._called(node, depth + 1)
        if isinstance(node, ast.Attribute):
            inner = self.of(node.value, depth + 1) if node.attr == "parent" else None
            return os.path.dirname(inner) if inner is not None else None
        if isinstance(node, ast.Subscript):
            return self._item(node, depth + 1)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Div):
            left, right = self.of(node.left, depth + 1), self.of(node.right, depth + 1)
            if left is None or right is None:
                return None
            return left + right if isinstance(node.op, ast.Add) else os.path.join(left, right)
        return None

    def _called(self, node: ast.Call, depth: int) -> str | None:
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if name in _START:
            return ""
        # `os.path.abspath(x)`, `Path(x)`; else a method of a path: `Path(x).resolve()`.
        args = list(node.args)
        if not args and isinstance(function, ast.Attribute):
            args = [function.value]
        given = [self.of(item, depth) for item in args]
        parts = [part for part in given if part is not None]
        if not parts or len(parts) < len(given):
            return None
        if name == "dirname":
            return os.path.dirname(parts[0])
        if name in ("join", "joinpath"):
            base = self.of(function.value, depth) if isinstance(function, ast.Attribute) else None
            return os.path.join(base, *parts) if base is not None else os.path.join(*parts)
        return os.path.normpath(parts[0]) if name in _SAME else None

    def _item(self, node: ast.Subscript, depth: int) -> str | None:
        """`os.path.split(x)[0]`, `Path(x).parents[1]`"""
        at = node.slice.value if isinstance(node.slice, ast.Constant) else None
        value = node.value
        if not isinstance(at, int) or at < 0:
            return None
        if isinstance(value, ast.Attribute) and value.attr == "parents":
            inner = self.of(value.value, depth)
            for _ in range(at + 1):
                inner = os.path.dirname(inner) if inner is not None else None
            return inner
        if isinstance(value, ast.Call) and getattr(value.func, "attr", "") == "split" and not at:
            inner = self.of(value.args[0], depth) if value.args else None
            return os.path.dirname(inner) if inner is not None else None
        return None
