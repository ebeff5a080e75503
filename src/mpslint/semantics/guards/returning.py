"""What follows from what a function of the file has returned: a flag, or an error or nothing."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from mpslint.semantics.names.flow import leaves
from mpslint.semantics.names.names import Names
from mpslint.semantics.syntax.index import Index
from mpslint.semantics.terms.facts_known import IMPOSSIBLE, NONE, Facts, common

if TYPE_CHECKING:
    from mpslint.semantics.guards.guards import Guards

_WAYS = 8


class Returning:
    def __init__(self, guards: Guards, index: Index, names: Names) -> None:
        self._guards = guards
        self._index = index
        self._names = names

    def called(self, call: ast.Call, outcome: bool) -> Facts:
        """What follows when a call gives something true (or false)."""
        function = self._function(call.func)
        return self.implied(function, outcome) if function is not None else NONE

    def implied(self, function: ast.FunctionDef, outcome: bool) -> Facts:
        """What follows when `function` has returned something true (or false)."""
        returns = self._index.returns(function)
        values = [item.value for item in returns if item.value is not None]
        if not values or len(values) > _WAYS:
            return NONE
        if any(_is_error(value) for value in values) and not outcome:
            if len(values) < len(returns) or not leaves(function.body):
                return NONE  # It comes back with nothing on other ways, too.
        around = self._guards.at(function.body[0])
        return common(
            [self._guards.at(value) - around | self._value(value, outcome) for value in values]
        )

    def _value(self, value: ast.expr, outcome: bool) -> Facts:
        if _is_error(value):
            return NONE if outcome else IMPOSSIBLE
        return self._guards.implied(value, outcome)

    def _function(self, called: ast.expr) -> ast.FunctionDef | None:
        """The one function of this file, or method of the class around, that is called."""
        if isinstance(called, ast.Attribute):
            return self._method(called)
        if not isinstance(called, ast.Name):
            return None
        bindings = self._names.bindings(called.id, called)
        if len(bindings) != 1 or bindings[0].kind != "def":
            return None
        node = bindings[0].node
        return node if isinstance(node, ast.FunctionDef) else None

    def _method(self, called: ast.Attribute) -> ast.FunctionDef | None:
        """`self.check()`, where it may return an error."""
        if not isinstance(called.value, ast.Name) or called.value.id != "self":
            return None
        owner = self._index.enclosing(called, ast.ClassDef)
        found = [
            item
            for item in (owner.body if owner is not None else ())
            if isinstance(item, ast.FunctionDef) and item.name == called.attr
        ]
        return found[0] if len(found) == 1 else None


def _is_error(value: ast.expr) -> bool:
    """`NotImplementedError("needs CUDA")`, which is true whatever it says."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name):
        return False
    kind = getattr(builtins, value.func.id, None)
    return isinstance(kind, type) and issubclass(kind, BaseException)
