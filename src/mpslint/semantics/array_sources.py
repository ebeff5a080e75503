"""Where an array comes from that has no name of its own function: an attribute that the class is
given, or a parameter for which the calls of the file hand it over."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.index import FUNCTIONS

if TYPE_CHECKING:
    from mpslint.semantics.flow import Flow
    from mpslint.semantics.guards import Guards
    from mpslint.semantics.index import FunctionNode, Index
    from mpslint.semantics.names import Names


class ArraySources:
    def __init__(self, index: Index, names: Names, flow: Flow, guards: Guards) -> None:
        self._index = index
        self._names = names
        self._flow = flow
        self._guards = guards

    def attribute(self, node: ast.Attribute) -> list[ast.expr]:
        """All that the class around `self.x` assigns to it; nothing for attributes of others."""
        if not isinstance(node.value, ast.Name) or node.value.id != "self":
            return []
        klass = self._index.enclosing(node, ast.ClassDef)
        return [
            value
            for value in self._guards.assigned(node)
            if self._index.enclosing(value, ast.ClassDef) is klass
        ]

    def handed_over(self, node: ast.Name) -> Iterator[ast.expr]:
        """What the calls of this file give for a parameter that nothing else has been given to."""
        bindings = self._flow.reaching(node)
        if len(bindings) != 1 or bindings[0].kind != "parameter":
            return
        function = self._index.parents.get(self._index.parents[bindings[0].node])
        if not isinstance(function, FUNCTIONS) or isinstance(
            self._index.parents[function], ast.ClassDef
        ):
            return
        names = [item.arg for item in (*function.args.posonlyargs, *function.args.args)]
        for call in self._calls(function):
            yield from (item.value for item in call.keywords if item.arg == node.id)
            at = names.index(node.id) if node.id in names else len(call.args)
            given = call.args[: at + 1]
            if len(given) > at and not any(isinstance(item, ast.Starred) for item in given):
                yield given[at]

    def _calls(self, function: FunctionNode) -> Iterator[ast.Call]:
        scope = self._names.scope_of(function)
        for call in self._index.calls.get(function.name, ()):
            if isinstance(call.func, ast.Name):
                if self._names.owner(function.name, call.func) is scope:
                    yield call
