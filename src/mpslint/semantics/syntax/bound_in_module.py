"""What may give the names of a module values, by the name: found in one walk, for all that ask of
one of its names after the other."""

from __future__ import annotations

import ast
from typing import Any
from weakref import WeakKeyDictionary

from mpslint.records import NamedTuple
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import children

_TABLES = frozenset({"globals", "locals", "vars"})
"""What gives the table of a module's names, which may be changed."""
_CHANGING = frozenset({"update", "setdefault", "pop"})
_OBJECTS = frozenset({"self", "cls", "args"})
"""What has attributes of its own, and is no module."""
_FUNCTIONS = frozenset({ast.FunctionDef, ast.AsyncFunctionDef})
_IMPORTS = frozenset({ast.Import, ast.ImportFrom})
_NAMED: frozenset[type] = frozenset(
    {*_FUNCTIONS, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar}
)
"""What binds a name that is a field of theirs."""
_REBINDING: frozenset[type] = frozenset({ast.alias, ast.Subscript, ast.Attribute, ast.Call})
"""What `_may_rebind` may say yes to."""


class BoundInModule(NamedTuple):
    by_name: dict[str, list[ast.AST]]
    """What may give a name a value anywhere in a file, but for the bodies of classes, whose names
    nobody else sees; in no particular order."""
    may_be_rebound: bool
    """Whether something in it may give names of the module other values, without naming them."""


_known: WeakKeyDictionary[ast.Module, BoundInModule] = WeakKeyDictionary()
"""Of the trees that somebody keeps."""


def bound_in(tree: ast.Module) -> BoundInModule:
    known = _known.get(tree)
    if known is None:
        known = _known[tree] = _bound_in(tree)
    return known


def bindings_of(tree: ast.Module, name: str) -> list[ast.AST]:
    """What may give a name a value in a file, as in `BoundInModule.by_name`."""
    return bound_in(tree).by_name.get(name, [])


def may_be_rebound(tree: ast.Module) -> bool:
    """As in `BoundInModule`."""
    return bound_in(tree).may_be_rebound


def _bound_in(tree: ast.Module) -> BoundInModule:
    found: dict[str, list[ast.AST]] = {}
    rebound = False
    todo: list[tuple[Any, bool]] = [(tree, False)]
    while todo:
        node, in_class = todo.pop()
        kind = node.__class__
        if kind is ast.Name:
            if not in_class and node.ctx.__class__ is not ast.Load:
                found.setdefault(node.id, []).append(node)
            continue
        if kind in _IMPORTS:
            todo += [(alias, in_class) for alias in node.names]
            continue
        if kind in _REBINDING:
            rebound = rebound or _may_rebind(node)
        if not in_class:
            for name in _bound_by(node, kind):
                found.setdefault(name, []).append(node)
        inner = kind is ast.ClassDef or (in_class and kind not in _FUNCTIONS)
        todo += [(child, inner) for child in children(node)]
    return BoundInModule(found, rebound)


def _bound_by(node: Any, kind: type) -> tuple[str, ...]:
    """The names that a node binds which is no name itself."""
    if kind in _NAMED:
        return (node.name,) if node.name is not None else ()
    if kind is ast.arg:
        return (node.arg,)
    if kind is ast.alias:
        return (node.asname or node.name.partition(".")[0],)
    if kind is ast.Global or kind is ast.Nonlocal:
        return tuple(dict.fromkeys(node.names))
    if kind is ast.MatchMapping:
        return (node.rest,) if node.rest is not None else ()
    return ()


def _may_rebind(item: ast.AST) -> bool:
    if isinstance(item, ast.alias):
        return item.name == "*"
    if isinstance(item, ast.Subscript):
        return _is_table(item.value) and not isinstance(item.ctx, ast.Load)
    if isinstance(item, ast.Attribute):
        return item.attr in _CHANGING and _is_table(item.value)
    if not isinstance(item, ast.Call) or not isinstance(item.func, ast.Name):
        return False
    if item.func.id == "setattr" and item.args:
        owner = item.args[0]
        return not isinstance(owner, ast.Name) or owner.id not in _OBJECTS
    return item.func.id == "exec"


def _is_table(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) in _TABLES
