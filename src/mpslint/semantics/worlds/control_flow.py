"""Loops, blocks that deal with exceptions, and ways out."""

from __future__ import annotations

import ast

from mpslint.facts import machines as facts
from mpslint.semantics.worlds.branches import Branches
from mpslint.semantics.worlds.events import Kind
from mpslint.semantics.worlds.machines import ALL, MAC, MACS, PORTED
from mpslint.semantics.worlds.values import (
    CONST,
    NAME,
    NO_TESTS,
    NONE,
    STREAM,
    UNK,
    Atom,
    Value,
    lift,
    one,
    tested,
)

_EXPECTING = frozenset(
    {"contextlib.suppress", "pytest.raises", "unittest.mock.patch", "unittest.mock.patch.object"}
)
"""Contexts in which an error is expected, or nothing real is called."""


class ControlFlow(Branches):
    # loops

    def loop(
        self, node: ast.For | ast.AsyncFor | ast.While, target: ast.expr | None, value: Value
    ) -> None:
        frame = self.frame
        mask, env = frame.mask, frame.env
        # The second turn knows less of plain constants: something may have set them.
        frame.env = {
            key: UNK
            if v.__class__ is Atom and v.kind == CONST and not v.tests and v.v is not None
            else v
            for key, v in env.items()
        }
        if target is not None:
            self.bind(target, value)
        self.block(node.body)
        after = frame.mask or mask
        frame.mask = mask
        frame.env = self.merge(env, mask, env, after, frame.env, NO_TESTS)
        if node.orelse:
            self.block(node.orelse)

    def s_For(self, node: ast.For | ast.AsyncFor) -> None:
        iterated = self.eval(node.iter)
        turns = self.turns(node.iter)
        mask = self.frame.mask
        if turns is not None:
            self.frame.mask = turns
        if self.frame.mask:
            self.loop(node, node.target, self.items_of(iterated))
        self.frame.mask = mask

    s_AsyncFor = s_For

    def s_While(self, node: ast.While) -> None:
        frame = self.frame
        mask = frame.mask
        yes, _, _ = self.cond(node.test)
        if yes:
            frame.mask = yes
            self.loop(node, None, UNK)
        frame.mask = mask

    # exceptions

    def s_With(self, node: ast.With | ast.AsyncWith) -> None:
        frame = self.frame
        caught = frame.caught
        for item in node.items:
            expression = item.context_expr
            value = self.eval(expression)
            if isinstance(expression, ast.Call):
                function = expression.func
                if isinstance(function, ast.Name) and function.id == "open" and expression.args:
                    value = Atom(STREAM, ast.dump(expression.args[0]))
                elif self.expects_error(function):
                    frame.caught = True
            if item.optional_vars is not None:
                self.bind(item.optional_vars, value)
        self.block(node.body)
        frame.caught = caught

    s_AsyncWith = s_With

    def expects_error(self, function: ast.expr) -> bool:
        if isinstance(function, ast.Attribute) and function.attr.startswith("assertRaises"):
            return True
        calling, self.calling = self.calling, True
        name = one(self.eval(function), ALL)
        self.calling = calling
        return name.kind == NAME and name.v in _EXPECTING

    def s_Try(self, node: ast.Try) -> None:
        frame = self.frame
        mask, why, env, caught = frame.mask, frame.tests, frame.env, frame.caught
        frame.caught = caught or any(_deals_with(handler) for handler in node.handlers)
        frame.env = dict(env)
        self.block(node.body)
        if frame.mask:
            self.block(node.orelse)
        frame.caught = caught
        worlds, end = frame.mask, frame.env
        # What may have raised has done a part of its work: a handler sees both.
        for handler in node.handlers:
            frame.mask, frame.tests, frame.env = mask, why, dict(env)
            self.block(handler.body)
            end = self.merge(env, worlds, end, frame.mask, frame.env, NO_TESTS)
            worlds |= frame.mask
        frame.mask, frame.env, frame.tests = worlds, end, why
        if node.finalbody:
            frame.mask = frame.mask or mask
            self.block(node.finalbody)
            frame.mask &= worlds

    s_TryStar = s_Try

    # leaving

    def s_Return(self, node: ast.Return) -> None:
        frame = self.frame
        value = self.eval(node.value) if node.value is not None else NONE
        if one(value, frame.mask).kind == NAME:
            self.kept(value)
        if frame.tests:
            value = lift(lambda atom: tested(atom, frame.tests), value)
        frame.returns.append((frame.mask, value))
        self.leave()
        frame.mask = 0

    def s_Raise(self, node: ast.Raise) -> None:
        if node.exc is not None:
            self.eval(node.exc)
        self.frame.mask = 0

    def s_Break(self, node: ast.Break) -> None:
        self.frame.mask = 0

    s_Continue = s_Break

    def s_Assert(self, node: ast.Assert) -> None:
        frame = self.frame
        yes, _, tests = self.cond(node.test)
        before = frame.mask
        frame.mask = yes
        if before & MAC and not yes & MAC and yes & PORTED:
            frame.tests |= tests
            self.emit(Kind.REFUSED, node, worlds=before, tests=tests, likely=not frame.more)
        elif yes & MACS != before & MACS:
            frame.tests |= tests


def _deals_with(handler: ast.ExceptHandler) -> bool:
    """A handler for what torch raises without CUDA, that does not raise in its turn."""
    if any(
        isinstance(item, ast.Raise) for statement in handler.body for item in ast.walk(statement)
    ):
        return False
    last = handler.body[-1]
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        if ast.unparse(last.value.func) in facts.EXITS:
            return False
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {
        kind.attr if isinstance(kind, ast.Attribute) else getattr(kind, "id", "") for kind in kinds
    }
    return not facts.CUDA_ERRORS.isdisjoint(names)
