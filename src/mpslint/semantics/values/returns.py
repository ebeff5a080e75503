"""What the functions of a file hand back, as expressions."""

from __future__ import annotations

import ast

from mpslint.semantics.names.names import Names
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode, Index
from mpslint.semantics.syntax.methods import method_of


class Returns:
    def __init__(self, index: Index, names: Names) -> None:
        self._index = index
        self._names = names

    def of(self, function: FunctionNode) -> list[ast.expr]:
        """What each `return` with a value hands back."""
        return [item.value for item in self._index.returns(function) if item.value is not None]

    def tuples(self, call: ast.Call, length: int) -> list[list[ast.expr]]:
        """What each `return` of the function that `call` runs hands back, where all are tuples of
        this length."""
        function = self.called(call)
        returns = self.of(function) if function is not None else []
        parts = [item.elts for item in returns if isinstance(item, ast.Tuple)]
        exact = all(
            len(part) == length and not any(isinstance(one, ast.Starred) for one in part)
            for part in parts
        )
        return parts if exact and len(parts) == len(returns) else []

    def of_closure(self, call: ast.Call) -> list[ast.expr]:
        """What the functions hand back that may be given to `optimizer.step(closure)`: the step
        returns that as it is. None where one of them is out of sight."""
        given = [*call.args, *(item.value for item in call.keywords if item.arg == "closure")]
        if len(given) != 1:
            return []
        if isinstance(given[0], ast.Lambda):
            return [given[0].body]
        if not isinstance(given[0], ast.Name):
            return []
        found = []
        for binding in self._names.bindings(given[0].id, given[0]):
            if not isinstance(binding.node, FUNCTIONS):
                return []
            returned = self.of(binding.node)
            if not returned:
                return []
            found += returned
        return found

    def method_of_self(self, function: ast.Attribute) -> FunctionNode | None:
        """The method of the same class that `self.name` is."""
        if not (isinstance(function.value, ast.Name) and function.value.id == "self"):
            return None
        return method_of(self._index.enclosing(function, ast.ClassDef), function.attr)

    def called(self, call: ast.Call) -> FunctionNode | None:
        """The function of the file, or the method of the same class, that `call` runs."""
        target = call.func
        if isinstance(target, ast.Name):
            bindings = self._names.bindings(target.id, target)
            if len(bindings) == 1 and isinstance(bindings[0].node, FUNCTIONS):
                return bindings[0].node
        elif isinstance(target, ast.Attribute):
            return self.method_of_self(target)
        return None
