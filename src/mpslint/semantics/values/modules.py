"""What is called, and asked for its parameters or put into a mode as well: a module, wherever it
comes from and whatever it is called."""

from __future__ import annotations

import ast
from functools import cached_property

from mpslint.semantics.names.names import Names
from mpslint.semantics.syntax.index import Index

_OF_MODULES = ("parameters", "named_parameters", "train", "eval")


class UsedModules:
    def __init__(self, index: Index, names: Names) -> None:
        self._index = index
        self._names = names

    def has(self, called: ast.expr) -> bool:
        """Whether the file uses `called`, a name or an attribute of `self`, as a module."""
        if isinstance(called, ast.Name):
            return (called.id, self._names.owner(called.id, called)) in self._used
        if isinstance(called, ast.Attribute) and _is_of_self(called):
            klass = self._index.enclosing(called, ast.ClassDef)
            return (called.attr, klass) in self._used
        return False

    @cached_property
    def _used(self) -> set[tuple[str, object]]:
        found: set[tuple[str, object]] = set()
        for method in _OF_MODULES:
            for call in self._index.calls.get(method, ()):
                if not isinstance(call.func, ast.Attribute) or call.args:
                    continue
                holder = call.func.value
                if isinstance(holder, ast.Name):
                    found.add((holder.id, self._names.owner(holder.id, holder)))
                elif isinstance(holder, ast.Attribute) and _is_of_self(holder):
                    found.add((holder.attr, self._index.enclosing(holder, ast.ClassDef)))
        return found


def _is_of_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"
