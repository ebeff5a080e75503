"""Whether an object has got an attribute by the time that a place in one of its methods runs.

The constructor is followed step by step, with the methods of the class that it calls on the way:
what runs before the attribute is set there has none yet, wherever the assignment stands in the
file. A method that the constructor leaves alone runs behind it.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.methods import method_of
from mpslint.semantics.syntax.parameters import positional_parameters
from mpslint.semantics.syntax.ways_through import JUMPS

if TYPE_CHECKING:
    from mpslint.semantics.syntax.index import Index

_CONSTRUCTOR = "__init__"
_DEEPEST = 12


def is_set_by_then(index: Index, klass: ast.ClassDef, name: str, place: ast.AST) -> bool:
    """Whether `self.name` is there when `place` runs, in a method of the class; where the class
    has a constructor that does not set it, whether another method does that may come first."""
    function = index.function(place)
    while function is not None and index.parents.get(function) is not klass:
        function = index.function(function)
    if function is None:
        return False
    way = _Way(index, klass, name, place)
    constructor = way.methods.get(_CONSTRUCTOR)
    is_set = constructor is not None and way.through(constructor, False)
    if way.met_unset:
        return False
    if constructor is function or is_set:
        return is_set
    may_be_set = way.sets
    way.through(function, False)
    if not way.met_unset:
        return True
    if may_be_set:
        return False
    # `setup()`, `fit()`: nothing shows that it comes later.
    way = _Way(index, klass, name, None)
    others = [one for one in way.methods.values() if one not in (function, constructor)]
    return any(way.through(one, False) for one in others) and not _calls_before(way, function)


def _calls_before(way: _Way, function: ast.AST) -> bool:
    """Whether a method that sets the attribute calls the function before it does."""
    for method in way.methods.values():
        asked = _Way(way.index, way.klass, way.name, function)
        asked.through(method, False)
        if method is not function and asked.met_unset and asked.sets:
            return True
    return False


class _Way:
    """What is known along one way through the methods of a class."""

    def __init__(self, index: Index, klass: ast.ClassDef, name: str, place: ast.AST | None) -> None:
        self.index = index
        self.klass = klass
        self.name = name
        self._line = _own_line(index, klass)
        self.methods = {
            item.name: item
            for one in reversed(self._line)
            for item in one.body
            if isinstance(item, FUNCTIONS)
        }
        self.met_unset = False
        """The place was come by where the attribute was not set."""
        self.sets = False
        self._place = place
        self._within: list[ast.AST] = []

    def through(self, method: ast.FunctionDef | ast.AsyncFunctionDef, is_set: bool) -> bool:
        """Whether the attribute is set when a method that is called has returned."""
        if method in self._within or len(self._within) == _DEEPEST:
            return is_set
        if method is self._place and not is_set:
            self.met_unset = True
        arguments = positional_parameters(method.args)
        if not arguments:
            return is_set
        self._within.append(method)
        is_set = self._block(method.body, is_set, arguments[0].arg)
        self._within.pop()
        return is_set

    def _inherited(self, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """What `super().name` is in the method that is run."""
        own = self.index.parents.get(self._within[-1])
        at = next((number for number, one in enumerate(self._line) if one is own), 0)
        for one in self._line[at + 1 :]:
            method = method_of(one, name)
            if method is not None:
                return method
        return None

    def _block(self, block: list[ast.stmt], is_set: bool, own: str) -> bool:
        for item in block:
            is_set = self._statement(item, is_set, own)
            if isinstance(item, JUMPS):
                return True if not isinstance(item, ast.Return) else is_set
        return is_set

    def _statement(self, item: ast.stmt, is_set: bool, own: str) -> bool:
        if isinstance(item, ast.If):
            is_set = self._parts([item.test], is_set, own)
            arms = [self._block(arm, is_set, own) for arm in (item.body, item.orelse)]
            return all(arms)
        if isinstance(item, ast.With | ast.AsyncWith):
            return self._block(item.body, self._parts(list(item.items), is_set, own), own)
        if isinstance(item, ast.For | ast.AsyncFor | ast.While):
            head = item.test if isinstance(item, ast.While) else item.iter
            is_set = self._parts([head], is_set, own)
            self._block(item.body, is_set, own)
            return self._block(item.orelse, is_set, own)
        if isinstance(item, ast.Try):
            tried = self._block(item.orelse, self._block(item.body, is_set, own), own)
            caught = [self._block(one.body, is_set, own) for one in item.handlers]
            return self._block(item.finalbody, tried and all(caught), own)
        if isinstance(item, ast.Match):
            is_set = self._parts([item.subject], is_set, own)
            for case in item.cases:
                self._block(case.body, is_set, own)
            return is_set
        if isinstance(item, ast.Assign | ast.AnnAssign | ast.AugAssign):
            if item.value is None:
                return is_set
            targets = item.targets if isinstance(item, ast.Assign) else [item.target]
            is_set = self._parts([item.value], is_set, own)
            return self._parts(list(targets), is_set, own)
        return self._parts([item], is_set, own)

    def _parts(self, parts: list[ast.AST], is_set: bool, own: str) -> bool:
        """What the parts of a statement do, one after the other as far as the text shows it."""
        for part in parts:
            if self._place is not None and not is_set and self.index.within(self._place, part):
                self.met_unset = True
            for node in ast.walk(part):
                is_set = self._node(node, part, is_set, own)
        return is_set

    def _node(self, node: ast.AST, part: ast.AST, is_set: bool, own: str) -> bool:
        if not isinstance(node, ast.Attribute):
            return is_set
        if _is_super(node.value):
            inherited = self._inherited(node.attr)
            return is_set if inherited is None else self.through(inherited, is_set)
        if not _is_name(node.value, own):
            return is_set
        is_later = isinstance(part, (*FUNCTIONS, ast.ClassDef)) or any(
            isinstance(parent, ast.Lambda) for parent in self.index.ancestors(node)
        )
        if node.attr == self.name and isinstance(node.ctx, ast.Store):
            self.sets = self.sets or not is_later
            return is_set or not is_later
        method = self.methods.get(node.attr)
        if method is None or not isinstance(node.ctx, ast.Load):
            return is_set
        after = self.through(method, is_set)
        parent = self.index.parents.get(node)
        is_called = isinstance(parent, ast.Call) and parent.func is node
        return after if is_called and not is_later else is_set


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_super(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _is_name(node.func, "super")


def _own_line(index: Index, klass: ast.ClassDef) -> list[ast.ClassDef]:
    """A class, and those of its bases that the file has."""
    line = [klass]
    for one in line:
        named = {base.id for base in one.bases if isinstance(base, ast.Name)}
        if named:
            line += [
                item
                for item in index.of(ast.ClassDef)
                if item.name in named and not any(item is known for known in line)
            ]
    return line
