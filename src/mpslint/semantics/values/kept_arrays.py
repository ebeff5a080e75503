"""What lies in the lists and tables that a file fills: `self.files["maps"][at]`, where a method has
made `{"maps": maps}` of a list to which `maps.append(np.loadtxt(path))` has added.
"""

from __future__ import annotations

import ast

from mpslint.semantics.names.flow import Flow
from mpslint.semantics.names.names import Names
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode, Index
from mpslint.semantics.syntax.methods import only_method_of_self
from mpslint.semantics.values.array_sources import ArraySources

_CHANGING = ("extend", "insert", "update", "setdefault", "remove", "pop", "clear")
"""Methods that put in, or take out, what is not looked at."""
_DEEPEST = 8
"""So many names, tables and calls lie between an item and what was put there."""


class KeptArrays:
    def __init__(self, index: Index, names: Names, flow: Flow, sources: ArraySources) -> None:
        self._index = index
        self._names = names
        self._flow = flow
        self._sources = sources
        self._depth = 0

    def items(self, node: ast.Subscript) -> list[ast.expr]:
        """All that one item of a list or of a table may be; nothing where it may be anything."""
        if self._depth >= _DEEPEST:
            return []
        self._depth += 1
        try:
            found: list[ast.expr] = []
            for holder, kept in self._kept(node.value):
                parts = self._parts(holder, kept, node.slice)
                if not parts:
                    return []
                found += parts
            return found
        finally:
            self._depth -= 1

    def _kept(self, container: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
        """What a container is, each with the name by which it is filled."""
        if isinstance(container, ast.Name):
            bindings = self._flow.reaching(container)
            if any(one.kind != "assign" or one.value is None for one in bindings):
                return []
            values = [one.value for one in bindings if one.value is not None]
        elif isinstance(container, ast.Attribute):
            values = self._sources.attribute(container)
        elif isinstance(container, ast.Subscript):
            values = self.items(container)
        else:
            return [(container, container)]
        found: list[tuple[ast.expr, ast.expr]] = []
        for value in values:
            if isinstance(value, ast.Name | ast.Subscript):
                found += self._kept(value)
            elif isinstance(value, ast.Call):
                given = self._returned(value)
                if not given:
                    return []
                for one in given:
                    found += self._kept(one)
            else:
                found.append((container, value))
        return found

    def _returned(self, call: ast.Call) -> list[ast.expr]:
        """What a function of the file, or a method of the class around, gives back."""
        function = call.func
        if isinstance(function, ast.Name):
            bound = self._names.bindings(function.id, function)
            made = bound[0].node if len(bound) == 1 else None
        else:
            made = only_method_of_self(self._index, function)
        return self._results(made) if isinstance(made, FUNCTIONS) else []

    def _results(self, function: FunctionNode) -> list[ast.expr]:
        own = self._index.returns(function)
        values = [one.value for one in own if one.value is not None]
        return values if len(values) == len(own) else []

    def _parts(self, holder: ast.expr, kept: ast.expr, at: ast.expr) -> list[ast.expr]:
        if self._is_changed(holder):
            return []
        if isinstance(kept, ast.Dict) and isinstance(at, ast.Constant):
            return [
                value
                for key, value in zip(kept.keys, kept.values, strict=True)
                if isinstance(key, ast.Constant) and key.value == at.value
            ]
        if isinstance(kept, ast.ListComp):
            return [kept.elt]
        if isinstance(kept, ast.List | ast.Tuple):
            if any(isinstance(one, ast.Starred) for one in kept.elts):
                return []
            return [*kept.elts, *self._added(holder)]
        return []

    def _added(self, holder: ast.expr) -> list[ast.expr]:
        """What is added to a list by its name."""
        return [
            call.args[0]
            for call in self._index.calls.get("append", ())
            if len(call.args) == 1 and self._is_of(holder, call.func)
        ]

    def _is_changed(self, holder: ast.expr) -> bool:
        """Whether something else than `append` changes what a name holds."""
        return any(
            self._is_of(holder, call.func)
            for name in _CHANGING
            for call in self._index.calls.get(name, ())
        ) or any(
            isinstance(one.ctx, ast.Store) and self._is_named(holder, one.value)
            for one in self._index.of(ast.Subscript)
        )

    def _is_of(self, holder: ast.expr, method: ast.expr) -> bool:
        return isinstance(method, ast.Attribute) and self._is_named(holder, method.value)

    def _is_named(self, holder: ast.expr, other: ast.expr) -> bool:
        """Whether both are the same name of one function, or the same attribute of one class."""
        if type(holder) is not type(other) or not _reads_the_same(holder, other):
            return False
        if isinstance(holder, ast.Attribute):
            owner = self._index.enclosing(holder, ast.ClassDef)
            return owner is self._index.enclosing(other, ast.ClassDef)
        return self._index.function(holder) is self._index.function(other)


def _reads_the_same(one: ast.expr, other: ast.expr) -> bool:
    """Whether two expressions are written alike; most of those that are not end otherwise."""
    if isinstance(one, ast.Attribute) and isinstance(other, ast.Attribute):
        return one.attr == other.attr and _reads_the_same(one.value, other.value)
    if isinstance(one, ast.Name) and isinstance(other, ast.Name):
        return one.id == other.id
    return ast.unparse(one) == ast.unparse(other)
