"""What a statement does to the worlds that are here and to what names stand for."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from mpslint.semantics.worlds.assignments import Assignments, is_overwritten
from mpslint.semantics.worlds.control_flow import ControlFlow
from mpslint.semantics.worlds.core import MAX_STEPS
from mpslint.semantics.worlds.definitions import Definitions
from mpslint.semantics.worlds.import_statements import ImportStatements
from mpslint.semantics.worlds.values import (
    INSTANCE,
    MODULE,
    TENSOR,
    UNK,
    UNKNOWN,
    Atom,
    Value,
    lift,
    one,
    restrict,
)

_MOVING = frozenset({"to", "cuda", "cpu", "mps", "double", "half", "float", "to_empty"})
"""Methods by which a module moves, or changes its dtype, in place."""


class Statements(Assignments, ControlFlow, ImportStatements, Definitions):
    statements: dict[type[ast.AST], Callable[[Any], None]]

    def block(self, body: list[ast.stmt]) -> None:
        frame = self.frame
        last = body[-1] if body else None
        for at, statement in enumerate(body):
            if not frame.mask:
                return
            frame.more = statement is not last
            self.steps += 1
            if self.steps > MAX_STEPS:
                return
            if self.recording:
                self.reach[statement] = self.reach.get(statement, 0) | frame.mask
                if frame.caught:
                    self.caught.add(statement)
            function = self.statements.get(statement.__class__)
            if function is not None:
                if frame.more and is_overwritten(statement, body[at + 1]):
                    self.eval(statement.value)  # type: ignore[attr-defined]
                else:
                    function(statement)
                frame.refused &= ~frame.mask

    def s_Expr(self, node: ast.Expr) -> None:
        value = node.value
        result = self.eval(value)
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            if value.func.attr in _MOVING:  # a module moves in place
                key = self.key(value.func.value)
                if key is not None:
                    old = one(self.lookup(key) or UNK, self.frame.mask)
                    if old.kind == UNKNOWN:
                        result = lift(_as_module, result)
                    if old.kind in (MODULE, UNKNOWN) or (old.kind == INSTANCE and old.v.module):
                        self.frame.env[key] = result
                        self.held.add(key.rpartition(".")[2])
                        self._moved_in_place(value.func.value, result)

    def _moved_in_place(self, held: ast.expr, result: Value) -> None:
        """A module that an object holds was moved while that was made: so all of its methods find
        it, whatever it was when it was stored."""
        frame = self.frame
        made = frame.function is not None and frame.function.node.name == "__init__"
        if not made or frame.arm or not isinstance(held, ast.Attribute):
            return
        owner = one(self.eval(held.value), frame.mask)
        if owner.kind == INSTANCE and owner.v.home is self:
            owner.v.sites[held.attr] = {id(held): restrict(result, frame.mask)}
            owner.v.cache.pop(held.attr, None)


def _as_module(atom: Atom) -> Atom:
    """What nobody takes the result of `.to(device)` from moves itself, so it is no tensor: its
    methods take tensors of any device."""
    return Atom(MODULE, atom.v, None, atom.tests) if atom.kind == TENSOR else atom
