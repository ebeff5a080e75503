"""Names of a module that its functions set later (`global BACKEND`), or its user does."""

from __future__ import annotations

import ast

from mpslint.semantics.syntax.index import FUNCTIONS, statements
from mpslint.semantics.worlds.core import MAX_DEPTH, MAX_STEPS
from mpslint.semantics.worlds.edited_settings import edited_attributes, edited_settings
from mpslint.semantics.worlds.machines import ALL
from mpslint.semantics.worlds.state import Function, FunctionNode
from mpslint.semantics.worlds.summaries import Summaries
from mpslint.semantics.worlds.values import CONST, NO_TESTS, UNKNOWN, Atom, Value, pack


class Rebinding(Summaries):
    tree: ast.Module
    functions: dict[FunctionNode, Function]
    _rebound: dict[str, Value]
    _edited: frozenset[str] | None
    _edited_attributes: frozenset[str] | None
    _text: bytes
    _declaring: list[tuple[FunctionNode, frozenset[str]]] | None

    def rebound_value(self, name: str, first: Atom) -> Value:
        """What a name of the module holds that functions set later: on machines on which none of
        these comes to that, still what it held `first`."""
        known = self._rebound.get(name)
        if known is not None:
            return known
        if name in self.setting:
            return first  # In the first of these calls, which all others follow.
        anything = Atom(UNKNOWN, symbol=("global", name))
        setters = self._setters(name)
        if setters is None or self.depth >= MAX_DEPTH or self.steps > MAX_STEPS:
            return anything
        self.setting[name] = 0
        for function in setters:
            running = function.running
            given = self.parameters(function, ())
            self.enter(function, ALL, NO_TESTS, given, recording=False)
            function.running = running
        worlds = self.setting.pop(name)
        self._rebound[name] = pack([(worlds, anything), (ALL & ~worlds, first)])
        return self._rebound[name]

    def as_edited(self, name: str, value: Value) -> Value:
        if value.__class__ is not Atom or value.kind != CONST:
            return value
        if value.v is not None and value.v.__class__ is not str:
            return value
        if self._edited is None:
            program = self.is_script or self.main is not None
            self._edited = edited_settings(self.tree, self._text) if program else frozenset()
        return Atom(UNKNOWN, symbol=("edited", name)) if name in self._edited else value

    def as_edited_attribute(self, name: str, value: Value) -> Value:
        if value.__class__ is not Atom or value.kind != CONST or value.v.__class__ is not str:
            return value
        if self._edited_attributes is None:
            self._edited_attributes = edited_attributes(self.tree, self._text)
        edited = name in self._edited_attributes
        return Atom(UNKNOWN, symbol=("edited", f".{name}")) if edited else value

    def _setters(self, name: str) -> list[Function] | None:
        """The functions that declare a name global; None where one of them is not known."""
        found: list[Function] = []
        for node in self._declaring_functions(name):
            function = self.functions.get(node)
            if function is None or not function.relevant:
                return None
            found.append(function)
        return found

    def _declaring_functions(self, name: str) -> list[FunctionNode]:
        if self._declaring is None:
            self._declaring = [
                (node, frozenset(item for one in inside for item in one.names))
                for node in statements(self.tree)
                if isinstance(node, FUNCTIONS)
                and (inside := [item for item in statements(node) if isinstance(item, ast.Global)])
            ]
        return [node for node, names in self._declaring if name in names]
