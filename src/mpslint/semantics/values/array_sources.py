"""Where an array comes from that has no name of its own function: an attribute that the class is
given, or a parameter for which the calls of the file hand it over."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.methods import method_of
from mpslint.semantics.syntax.parameters import given_for
from mpslint.semantics.values.returns import Returns

if TYPE_CHECKING:
    from mpslint.semantics.guards.guards import Guards
    from mpslint.semantics.names.flow import Flow
    from mpslint.semantics.names.names import Binding, Names
    from mpslint.semantics.syntax.index import FunctionNode, Index

# Fact: decorators after which a function hands back what it did before.
_KEEPING = frozenset(
    {"numba.jit", "numba.njit", "functools.lru_cache", "functools.cache"}
    | {"torch.no_grad", "torch.inference_mode"}
)

_YIELDS = (ast.Yield, ast.YieldFrom)


def part_of(binding: Binding) -> tuple[int | None, int]:
    """Which part of what is unpacked a name is given, of how many: `_, counts = ...`; None: it is
    not a part of it for itself."""
    statement = binding.node
    for target in statement.targets if isinstance(statement, ast.Assign) else ():
        parts = target.elts if isinstance(target, ast.Tuple | ast.List) else []
        if binding.target in parts and not any(isinstance(one, ast.Starred) for one in parts):
            return parts.index(binding.target), len(parts)
    return None, 0


class ArraySources:
    def __init__(self, index: Index, names: Names, flow: Flow, guards: Guards) -> None:
        self.index = index
        self._names = names
        self._flow = flow
        self._guards = guards
        self._returns = Returns(index, names)

    def returned(self, call: ast.Call) -> list[ast.expr]:
        """What a function or method of the file hands back that `call` runs, by each `return`;
        nothing where it may hand back something else as well."""
        function = self._returns.called(call) or self._method_of_made(call.func)
        if not isinstance(function, ast.FunctionDef):
            return []
        if not all(map(self._keeps_answer, function.decorator_list)):
            return []
        yields = (one for kind in _YIELDS for one in self.index.of(kind))
        if any(self.index.function(one) is function for one in yields):
            return []
        given = self.index.returns(function)
        found = [item.value for item in given if item.value is not None]
        return found if len(found) == len(given) else []

    def _keeps_answer(self, decorator: ast.expr) -> bool:
        if isinstance(decorator, ast.Name) and decorator.id == "staticmethod":
            return self._names.owner(decorator.id, decorator) is None
        return self._names.resolve(decorator) in _KEEPING

    def _method_of_made(self, function: ast.expr) -> FunctionNode | None:
        """`Noise().draw`, `noise.draw` of what was made of a class of the file."""
        made = function.value if isinstance(function, ast.Attribute) else None
        if isinstance(made, ast.Name):
            found = self._flow.reaching(made)
            made = found[0].value if len(found) == 1 and found[0].kind == "assign" else None
        if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Name):
            return None
        assert isinstance(function, ast.Attribute)
        bindings = self._names.bindings(made.func.id, made.func)
        klass = bindings[0].node if len(bindings) == 1 else None
        return method_of(klass, function.attr) if isinstance(klass, ast.ClassDef) else None

    def attribute(self, node: ast.Attribute) -> list[ast.expr]:
        """All that the class around `self.x` assigns to it; nothing for attributes of others."""
        if not isinstance(node.value, ast.Name) or node.value.id != "self":
            return []
        klass = self.index.enclosing(node, ast.ClassDef)
        return [
            value
            for value in self._guards.assigned(node)
            if self.index.enclosing(value, ast.ClassDef) is klass
        ]

    def handed_over(self, node: ast.Name) -> Iterator[ast.expr]:
        """What the calls of this file give for a parameter that nothing else has been given to."""
        bindings = self._flow.reaching(node)
        if len(bindings) != 1 or bindings[0].kind != "parameter":
            return
        function = self.index.parents.get(self.index.parents[bindings[0].node])
        if isinstance(function, ast.Lambda):
            yield from self._mapped(function)
            return
        if not isinstance(function, FUNCTIONS) or isinstance(
            self.index.parents[function], ast.ClassDef
        ):
            return
        for call in self._calls(function):
            given = given_for(function.args, call, node.id)
            if given is not None:
                yield given

    def _mapped(self, function: ast.Lambda) -> Iterator[ast.expr]:
        """What `map(lambda a: ..., (xs, ys))` calls its function with, where that is written."""
        call = self.index.parents[function]
        if not isinstance(call, ast.Call) or len(call.args) != 2 or call.args[0] is not function:
            return
        given = call.args[1]
        if isinstance(call.func, ast.Name) and call.func.id == "map":
            if self._names.owner("map", call) is None and isinstance(given, ast.List | ast.Tuple):
                yield from given.elts

    def literals(self, node: ast.Name) -> list[ast.expr]:
        """The lists that a name stands for, where nothing is put into them, or that the calls of
        the file hand over; nothing where it may be anything else as well."""
        bindings = self._flow.reaching(node)
        found = [one.value for one in bindings if one.kind == "assign" and one.value is not None]
        if len(bindings) == 1 and bindings[0].kind == "parameter":
            found = list(self.handed_over(node))
        elif len(found) != len(bindings) or self.is_changed(node):
            return []
        return found if all(isinstance(one, ast.List | ast.Tuple) for one in found) else []

    def is_changed(self, node: ast.Name) -> bool:
        """Whether a method of what the name stands for is called, or an item replaced."""
        return any(
            isinstance(parent := self.index.parents[use], ast.Attribute)
            or (isinstance(parent, ast.Subscript) and not isinstance(parent.ctx, ast.Load))
            for use in self.index.names.get(node.id, ())
        )

    def _calls(self, function: FunctionNode) -> Iterator[ast.Call]:
        scope = self._names.scope_of(function)
        for call in self.index.calls.get(function.name, ()):
            if isinstance(call.func, ast.Name):
                if self._names.owner(function.name, call.func) is scope:
                    yield call
