"""What others hand to a function that measures: something to call, or a block to be around.

`def measure(f, *a): ...; f(*a); ...`, a decorator, `with timed(): ...`, and an object whose class
has `__enter__` and `__exit__`. Asked by the names of this file alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.semantics.names.names import Names
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode, Index
from mpslint.semantics.syntax.parameters import positional_names

_MANAGERS = ("contextlib.contextmanager", "contextlib.asynccontextmanager")


class HandedWork:
    def __init__(self, index: Index, names: Names) -> None:
        self._index = index
        self._names = names

    def given(self, call: ast.Call) -> list[ast.AST]:
        """What a call runs that calls a parameter: what all callers give for it, or the functions
        that are decorated; empty: that is not known."""
        place = self._parameter(call)
        if place is None:
            return []
        function, name = place
        names = positional_names(function.args)
        found: list[ast.AST] = []
        for use in self._uses(function):
            parent = self._index.parents[use]
            if isinstance(parent, FUNCTIONS) and use in parent.decorator_list and names == [name]:
                found.append(parent)
                continue
            if not isinstance(parent, ast.Call) or parent.func is not use:
                return []
            given = dict(zip(names, parent.args, strict=False))
            given |= {item.arg: item.value for item in parent.keywords if item.arg is not None}
            if name not in given or any(isinstance(item, ast.Starred) for item in given.values()):
                return []
            found.append(given[name])
        return found

    def blocks(self, node: ast.Yield) -> Iterator[list[ast.stmt]]:
        """The bodies of `with timed():`, where the function that `timed` names hands over to them
        by this `yield`."""
        function = self._index.function(node)
        decorators = function.decorator_list if function is not None else ()
        if function is None or not any(self._names.resolve(x) in _MANAGERS for x in decorators):
            return
        for use in self._uses(function):
            yield from self._body_under(self._index.parents[use], use)

    def blocks_of(self, klass: ast.ClassDef) -> Iterator[list[ast.stmt]]:
        """The bodies of `with Timer():`, where `klass` is what `Timer` names."""
        for use in self._index.names.get(klass.name, ()):
            if [one.node for one in self._names.bindings(klass.name, use)] == [klass]:
                yield from self._body_under(self._index.parents[use], use)

    def _body_under(self, call: ast.AST, use: ast.AST) -> Iterator[list[ast.stmt]]:
        if isinstance(call, ast.Call) and call.func is use:
            item = self._index.parents[call]
            if isinstance(item, ast.withitem):
                around = self._index.parents[item]
                assert isinstance(around, ast.With | ast.AsyncWith)
                yield around.body

    def _parameter(self, call: ast.Call) -> tuple[FunctionNode, str] | None:
        """The function of the module whose parameter is called, and which one."""
        if not isinstance(call.func, ast.Name):
            return None
        bindings = self._names.bindings(call.func.id, call.func)
        if len(bindings) != 1 or bindings[0].kind != "parameter":
            return None
        function = self._index.enclosing(bindings[0].node, *FUNCTIONS)
        if not isinstance(function, FUNCTIONS):
            return None
        if not isinstance(self._index.parents[function], ast.Module):
            return None
        return function, call.func.id

    def _uses(self, function: FunctionNode) -> Iterator[ast.Name]:
        scope = self._names.scope_of(function)
        for use in self._index.names.get(function.name, ()):
            if isinstance(use.ctx, ast.Load) and self._names.owner(use.id, use) is scope:
                yield use
