"""What a file does with a package of others that has no part in where tensors are: it is named in
an annotation or asked for as a type, or is given, and gives, what lies on the host.

`Config.fromfile(args.config)` reads a file whatever the device is, `viewer.add(x.numpy())` shows an
array. Where a tensor, or a model, may go in or come out, nobody knows what becomes of it.
"""

from __future__ import annotations

import ast

from mpslint.halfway.foreign_flow import Flow
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode, walk
from mpslint.semantics.syntax.parameters import explicit_parameters

_ASKING = frozenset({"isinstance", "issubclass", "hasattr"})
_OF_PACKAGES = frozenset({"__version__", "__file__", "__name__", "__path__", "__doc__"})


class ForeignUses(Flow):
    def asked_of(self, name: ast.Name, origin: str) -> tuple[str, ast.Call | None]:
        """The qualified name of what is used where a foreign thing is named that is called
        `origin`; and its call, if it is called."""
        node: ast.AST = name
        around = self._around.get(node)
        while isinstance(around, ast.Attribute):
            origin, node = f"{origin}.{around.attr}", around
            around = self._around.get(node)
        is_called = isinstance(around, ast.Call) and around.func is node
        return origin, around if is_called else None  # type: ignore[return-value]

    def is_apart(self, name: ast.Name) -> bool:
        """Whether no tensor has a part in what is done with a foreign thing where it is named."""
        self._holding.clear()
        self._failing.clear()
        node: ast.expr = name
        while isinstance(self._around.get(node), ast.Attribute):
            node = self._around[node]  # type: ignore[assignment]
            if node.attr in _OF_PACKAGES:  # type: ignore[attr-defined]
                return True
        if self._is_only_asked_for(node):
            return True
        call = self._around.get(node)
        if not isinstance(call, ast.Call) or call.func is not node:
            return self._wraps_host(node)
        if self._wraps_host(call):
            return self._is_given_host(call)
        if isinstance(self._around.get(call), ast.Expr):
            return False  # Nothing comes of it that could be seen: it may change what others do.
        return self._is_given_host(call) and self._stays_host(call)

    def is_only_named(self, name: ast.Name) -> bool:
        """Whether a foreign class stands for a type alone: in an annotation or a question, or as
        the base of a class."""
        node: ast.AST = name
        around = self._around.get(node)
        while isinstance(around, ast.Attribute | ast.Subscript | ast.BinOp | ast.Tuple | ast.List):
            node, around = around, self._around.get(around)
        if isinstance(around, ast.ClassDef):
            return node in around.bases
        if isinstance(around, ast.Call):
            return last_name(around.func) in _ASKING and around.func is not node
        if isinstance(around, ast.arg):
            return True
        if isinstance(around, ast.AnnAssign):
            return around.annotation is node
        return isinstance(around, FUNCTIONS) and around.returns is node

    def _is_only_asked_for(self, node: ast.AST) -> bool:
        around = self._around.get(node)
        if isinstance(around, ast.Compare):
            return True
        if isinstance(around, ast.ExceptHandler):
            return True
        if isinstance(around, ast.Tuple):
            return self._is_only_asked_for(around)
        if isinstance(around, ast.Call) and around.func is not node:
            return isinstance(around.func, ast.Name) and around.func.id in _ASKING
        if isinstance(around, ast.keyword):
            call = self._around.get(around)
            function = call.func if isinstance(call, ast.Call) else None
            return isinstance(function, ast.Attribute) and function.attr == "add_argument"
        return self._is_annotation(node)

    def _wraps_host(self, decorator: ast.expr) -> bool:
        """Whether something decorates a function through which no tensor comes to it."""
        entry = self._around.get(decorator)
        if not isinstance(entry, FUNCTIONS) or decorator not in entry.decorator_list:
            return False
        given = entry.args
        every = explicit_parameters(given)
        if not every or given.vararg or given.kwarg:
            return False
        inside = [one for one in walk(entry) if self._names.own_scope(one) is entry]
        if any(isinstance(one, ast.Yield | ast.YieldFrom) for one in inside):
            return False
        back = [one.value for one in inside if isinstance(one, ast.Return) and one.value]
        is_set = all(one.annotation and self._is_of_settings(one.annotation) for one in every)
        return (is_set and not back) or self._is_called_with_host(entry, every, back)

    def _is_called_with_host(
        self, entry: FunctionNode, every: list[ast.arg], back: list[ast.expr]
    ) -> bool:
        """Whether a function is given, and gives, what lies on the host, as does who calls it:
        `@cached() def read(path)`."""
        scope = self._around[entry]
        if len(entry.decorator_list) > 1 or scope is not self._names.top:
            return False
        if self._others.is_taken(entry.name):
            return False
        if not all(map(self._is_host, back)):
            return False
        if not all(self._are_uses_on_host(entry, one.arg) for one in every):
            return False
        uses = [(one, self._around[one]) for one in self._names.uses_of(scope, entry.name)]
        return all(
            isinstance(call, ast.Call)
            and call.func is one
            and self._is_given_host(call)
            and self._goes_on_as_host(call)
            for one, call in uses
        )

    def _is_annotation(self, node: ast.AST) -> bool:
        """Whether a type is only named; what a function is given of it is used on the host."""
        around = self._around.get(node)
        while around is not None and not isinstance(around, ast.stmt):
            if isinstance(around, ast.arg):
                return self._are_uses_on_host(self._names.own_scope(around), around.arg)
            node, around = around, self._around.get(around)
        if isinstance(around, ast.AnnAssign):
            return around.annotation is node
        return isinstance(around, FUNCTIONS) and around.returns is node
