"""Modules of a project that others have by a text: a lazy package looks for what it is asked for in
a table of its modules, and a program puts the name of a module together."""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING

from mpslint.semantics.worlds.text_imports import ANY, importing_calls, module_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mpslint.project.layout.modules import Modules

_INIT = "__init__.py"
# Fact: the Python language, `__getattr__` of a module; what `lazy_loader` and transformers put in
# the place of one.
_LAZY = (b"def __getattr__", b"lazy_loader", b"_LazyModule")
_BY_TEXT = (b"import_module(", b"__import__(")
_IMPORTERS = frozenset({"import_module", "__import__"})
_Found = tuple[str | None, tuple[str, ...]]
"""A file, and all files that were looked for."""


class ModulesByText:
    def __init__(self, modules: Modules, find: Callable[[str, str], _Found]) -> None:
        """`find`: the file of a module as another names it."""
        self._modules = modules
        self._find = find
        self._tables: dict[str, dict[str, list[str]] | None] = {}

    def lazily(self, path: str, module: str) -> _Found:
        """The file of the module from which a lazy package takes a name, as the file at the
        absolute `path` names both (`package.Name`)."""
        body = module.lstrip(".")
        holder, _, name = body.rpartition(".")
        package = module[: len(module) - len(body)] + holder
        if not package or not name:
            return None, ()
        init, looked = self._find(path, package)
        if init is None or os.path.basename(init) != _INIT:
            return None, looked
        if init not in self._tables:
            self._tables[init] = self._table(init)
        for text in (self._tables[init] or {}).get(name, ()):
            for way in (text, f".{text}") if text[:1] != "." else (text,):
                found, more = self._find(init, way)
                looked += more
                if found is not None and found != init:
                    return found, looked
        return None, looked

    def _table(self, init: str) -> dict[str, list[str]] | None:
        """By name: the modules that a lazy package may take it from."""
        data = self._modules.text(init) or b""
        if not any(word in data for word in _LAZY):
            return None
        tree = self._modules.tree(init)
        found: dict[str, list[str]] = {}
        for node in ast.walk(tree) if tree is not None else ():
            named = _listed(node) if isinstance(node, ast.Dict) else ()
            for name, module in _imported(node) if _is_asked_late(node) else named:
                found.setdefault(name, []).append(module)
        return found

    def some_of(self, path: str, module: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names of all modules that begin as `module` does, which is open; none where that is
        not known. And the files and folders that were looked at, or for."""
        package, _, first = module.removesuffix(ANY).rpartition(".")
        folder, looked = self._folder(path, package)
        if folder is None:
            return (), looked
        beside = self._modules.beside(os.path.join(folder, _INIT))
        stems = [os.path.basename(one).removesuffix(".py") for one in beside]
        inner = self._packages_in(folder)
        names = [one for one in (*stems, *inner) if one.startswith(first) and one != "__init__"]
        return tuple(f"{package}.{one}" for one in names), (*looked, folder)

    def _folder(self, path: str, package: str) -> _Found:
        found, looked = self._find(path, package)
        if found is not None:
            is_package = os.path.basename(found) == _INIT
            return (os.path.dirname(found) if is_package else None), looked
        if package.startswith("."):
            return None, looked
        for root in dict.fromkeys((os.path.dirname(path), *self._modules.roots(path))):
            folder = os.path.join(root, *package.split("."))
            if self._modules.beside(os.path.join(folder, _INIT)):
                return folder, (*looked, folder)
        return None, looked

    def _packages_in(self, folder: str) -> list[str]:
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            return []
        return [one for one in names if os.path.isfile(os.path.join(folder, one, _INIT))]

    def named_in(self, path: str) -> tuple[str, ...]:
        """The modules that a file imports by texts that it puts together, as far as they are known;
        open names among them."""
        data = self._modules.text(path) or b""
        if not any(word in data for word in _BY_TEXT):
            return ()
        tree = self._modules.tree(path)
        found: dict[str, None] = {}
        for call, function in importing_calls(tree, _IMPORTERS) if tree is not None else ():
            assert tree is not None
            found.update(dict.fromkeys(module_texts(call.args[0], function, tree) or ()))
        return tuple(found)


def _is_asked_late(node: ast.AST) -> bool:
    """Whether what a package imports in a statement is there for who asks for it, or reads it."""
    if isinstance(node, ast.FunctionDef):
        return node.name == "__getattr__"
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def _imported(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Names, each with the module that they are taken from."""
    for item in ast.walk(node):
        if isinstance(item, ast.ImportFrom):
            module = "." * item.level + (item.module or "")
            yield from ((alias.asname or alias.name, module) for alias in item.names)


def _listed(table: ast.Dict) -> Iterator[tuple[str, str]]:
    """The same of `{"Name": "module"}`, `{"Name": ("module", "Name")}` and `{"module": ["Name"]}`,
    wherever the package has that."""
    for key, value in zip(table.keys, table.values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            continue
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield key.value, value.value
        elif isinstance(value, ast.Tuple | ast.List | ast.Set):
            parts = [one.value for one in value.elts if isinstance(one, ast.Constant)]
            texts = [part for part in parts if isinstance(part, str)]
            if isinstance(value, ast.Tuple) and texts:
                yield key.value, texts[0]
            yield from ((text, key.value) for text in texts)
