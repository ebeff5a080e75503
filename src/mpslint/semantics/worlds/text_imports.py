"""The modules that a program may import by a text which it puts together: an entry of a table that
stands in the file, with a package in front of it (`import_module("models." + NAMES[kind])`), or any
one of a package (`import_module(f"models.{kind}")`)."""

from __future__ import annotations

import ast

from mpslint.semantics.syntax.expressions import last_name, names_in
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode

ANY = "*"
"""At the end of the name of a module: any that begins so."""
_MOST = 64
"""So many entries a table has at most."""
_DEEP = 4


def module_texts(
    node: ast.expr, function: FunctionNode | None, tree: ast.Module
) -> tuple[str, ...] | None:
    """The names that an expression in a function of a file may stand for, each of them once; of
    those that are open only the package, and `ANY`. None: it may be anything."""
    texts = _Texts(function, tree).of(node, _DEEP)
    if texts is None:
        return None
    whole = [text for text in texts if _is_module(text)]
    return tuple(dict.fromkeys(whole)) if whole and len(whole) == len(texts) else None


def _is_module(text: str) -> bool:
    """Whether a text may be the name of a module; one that is open names its package at least."""
    body = text.removesuffix(ANY).strip(".")
    if text.endswith(ANY) and not text.removesuffix(ANY).rpartition(".")[0].strip("."):
        return False
    return bool(body) and all(part.isidentifier() for part in body.split("."))


class _Texts:
    def __init__(self, function: FunctionNode | None, tree: ast.Module) -> None:
        self._function = function
        self._tree = tree

    def of(self, node: ast.expr, depth: int) -> list[str] | None:
        if not depth:
            return None
        if isinstance(node, ast.Constant):
            return [node.value] if isinstance(node.value, str) else None
        if isinstance(node, ast.FormattedValue):
            return self.of(node.value, depth)
        if isinstance(node, ast.JoinedStr):
            return self._joined(node.values, depth)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self._joined([node.left, node.right], depth)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "format" and isinstance(node.func.value, ast.Constant):
                return _open(str(node.func.value.value).partition("{")[0])
            if node.func.attr == "get" and isinstance(node.func.value, ast.Name) and node.args:
                return self._entries(node.func.value.id, None)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            if isinstance(node.left, ast.Constant):
                return _open(str(node.left.value).partition("%")[0])
        if isinstance(node, ast.Subscript):
            return self._subscript(node, None)
        if isinstance(node, ast.Name):
            return self._assigned(node.id, depth - 1)
        return None

    def _joined(self, nodes: list[ast.expr], depth: int) -> list[str] | None:
        known = [""]
        for node in nodes:
            more = self.of(node, depth)
            if more is None or any(text.endswith(ANY) for text in known):
                return _open(known[0]) if len(known) == 1 else None
            known = [text + one for text in known for one in more][:_MOST]
        return known

    def _assigned(self, name: str, depth: int) -> list[str] | None:
        """What a name of the function is that is bound once."""
        if self._function is None:
            return None
        found: list[list[str] | None] = []
        for item in ast.walk(self._function):
            if isinstance(item, ast.arg) and item.arg == name:
                return None
            if isinstance(item, ast.For) and name in names_in(item.target):
                return None
            if not isinstance(item, ast.Assign):
                continue
            for target in item.targets:
                if isinstance(target, ast.Name) and target.id == name:
                    found.append(self.of(item.value, depth))
                elif isinstance(target, ast.Tuple) and name in names_in(target):
                    at = [getattr(one, "id", "") for one in target.elts].index(name)
                    is_entry = isinstance(item.value, ast.Subscript)
                    found.append(self._subscript(item.value, at) if is_entry else None)  # type: ignore[arg-type]
        return found[0] if len(found) == 1 else None

    def _subscript(self, node: ast.Subscript, at: int | None) -> list[str] | None:
        """The entries of a table, or of each of them what stands `at` a place."""
        inner = node.value
        if isinstance(inner, ast.Subscript) and at is None:
            place = node.slice
            if isinstance(place, ast.Constant) and isinstance(place.value, int):
                return self._subscript(inner, place.value)
        return self._entries(inner.id, at) if isinstance(inner, ast.Name) else None

    def _entries(self, table: str, at: int | None) -> list[str] | None:
        """The texts that a table at the top of the file has, as it is written out there."""
        displays = [
            item.value
            for item in self._tree.body
            if isinstance(item, ast.Assign | ast.AnnAssign) and table in _targets(item)
        ]
        if len(displays) != 1 or not isinstance(displays[0], ast.Dict) or self._is_edited(table):
            return None
        found: list[str] = []
        for value in displays[0].values:
            if at is not None:
                parts = value.elts if isinstance(value, ast.Tuple | ast.List) else []
                value = parts[at] if -len(parts) <= at < len(parts) else ast.Constant(None)
            if not isinstance(value, ast.Constant) or not isinstance(value.value, str):
                return None
            found.append(value.value)
        return found if 0 < len(found) <= _MOST else None

    def _is_edited(self, table: str) -> bool:
        """Whether something is put into a table later, or it is given to others."""
        uses = [x for x in ast.walk(self._tree) if isinstance(x, ast.Name) and x.id == table]
        read = {
            item.value
            for item in ast.walk(self._tree)
            if isinstance(item, ast.Subscript) and isinstance(item.ctx, ast.Load)
        }
        read |= {
            item.func.value
            for item in ast.walk(self._tree)
            if isinstance(item, ast.Call)
            and isinstance(item.func, ast.Attribute)
            and item.func.attr in ("get", "keys", "items", "values")
        }
        asked = {
            one
            for item in ast.walk(self._tree)
            if isinstance(item, ast.Compare | ast.For | ast.comprehension | ast.Call)
            for one in _asked(item)
        }
        return any(
            isinstance(use.ctx, ast.Load) and use not in read and use not in asked for use in uses
        )


def _asked(node: ast.AST) -> list[ast.expr]:
    """What a comparison (`name in TABLE`), a loop or `sorted` and its like only looks at."""
    if isinstance(node, ast.Compare):
        return node.comparators
    if isinstance(node, ast.For | ast.comprehension):
        return [node.iter]
    assert isinstance(node, ast.Call)
    looks = getattr(node.func, "id", "") in ("list", "sorted", "len", "tuple", "set")
    return node.args if looks else []


def _targets(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _open(text: str) -> list[str] | None:
    return [text + ANY] if text else None


def importing_calls(
    tree: ast.Module, importers: frozenset[str]
) -> list[tuple[ast.Call, FunctionNode | None]]:
    """The calls of a file by which modules are imported, each with the function around it;
    `importers`: the last names of what imports."""
    found: list[tuple[ast.Call, FunctionNode | None]] = []
    todo: list[tuple[ast.AST, FunctionNode | None]] = [(tree, None)]
    while todo:
        node, function = todo.pop()
        if isinstance(node, FUNCTIONS):
            function = node
        if isinstance(node, ast.Call) and node.args:
            func = node.func
            last = last_name(func)
            if last in importers:
                found.append((node, function))
        todo += [(child, function) for child in ast.iter_child_nodes(node)]
    return found
