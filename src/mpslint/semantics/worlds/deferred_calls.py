"""Functions that are called later, with arguments that are given now: `functools.partial(f, x)`,
`threading.Thread(target=f, args=(x,))`."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from mpslint.facts import machines as facts
from mpslint.semantics.syntax.expressions import keyword
from mpslint.semantics.syntax.parameters import positional_names
from mpslint.semantics.worlds.builtin_calls import BuiltinCalls
from mpslint.semantics.worlds.handed_on import not_taken
from mpslint.semantics.worlds.machines import ALL
from mpslint.semantics.worlds.numbers import holds_wide
from mpslint.semantics.worlds.state import Env, Function
from mpslint.semantics.worlds.statements import Statements
from mpslint.semantics.worlds.values import (
    BOUND,
    FUNCTION,
    MAPPING,
    NAME,
    NO_TESTS,
    PARTIAL,
    SEQUENCE,
    UNK,
    Atom,
    Tests,
    Value,
    one,
)

_STARTED = ("threading.Thread", "threading.Timer", "multiprocessing.Process")
"""Classes of the standard library (torch.multiprocessing has the last as well) that run `target`,
of a timer `function`, with `args` and `kwargs`."""


class DeferredCalls(BuiltinCalls, Statements):
    def call(self, node: ast.Call, callee: Atom, args: list[Value], keywords: Env) -> Value:
        raise NotImplementedError

    def note_functions_given(self, callee: Function, node: ast.Call, given: Env) -> None:
        raise NotImplementedError

    def is_kept_elsewhere(self, owner: Atom) -> bool:
        """Whether something imported is an object that the project keeps, of which no more is
        known, rather than a module or a package with functions."""
        return owner.kind == NAME and self.project is not None and self.project.keeps(str(owner.v))

    def partial_call(self, node: ast.Call, args: list[Value], keywords: Env) -> Value:
        """`partial(torch.autocast, "cuda")`: what a call of it will do with these arguments."""
        callee = one(args[0], self.frame.mask)
        if callee.kind == NAME and callee.v in facts.ANSWERS:
            return Atom(PARTIAL, (callee, args[1:], keywords))
        if callee.kind == NAME and str(callee.v).startswith("torch."):
            self.call(node, callee, args[1:], keywords)
        elif callee.kind in (FUNCTION, BOUND):
            self._called_later(callee, node.args[0], node, args[1:], keywords)
            return Atom(PARTIAL, (callee, args[1:], keywords), node)
        return UNK

    def started(self, name: str, node: ast.Call, keywords: Env) -> bool:
        """Whether a function of the file is started by itself, with the arguments that stand
        there."""
        if not name.endswith(_STARTED):
            return False
        called = "function" if name.endswith("Timer") else "target"
        target = one(keywords.get(called, UNK), self.frame.mask)
        given_as = keyword(node, called)
        wrapped = _wrapped(given_as)
        if wrapped is not None and target.kind not in (FUNCTION, BOUND):
            # `Process(target=in_a_thread(run), args=...)`: what it makes of it takes these as well.
            target, given_as = one(self.frame.env.get(wrapped.id, UNK), self.frame.mask), wrapped
        if target.kind not in (FUNCTION, BOUND) or given_as is None:
            return False
        first = one(keywords.get("args", UNK), self.frame.mask)
        named = one(keywords.get("kwargs", UNK), self.frame.mask)
        given = list(first.v) if first.kind == SEQUENCE else []
        more = dict(named.v) if named.kind == MAPPING else {}
        self._called_later(target, given_as, node, given, more)
        return True

    def _called_later(
        self, callee: Atom, named: ast.expr, node: ast.Call, args: list[Value], keywords: Env
    ) -> None:
        """That it was named here hands it to nobody else: it is called with what is given here.
        What it raises ends the run of who calls it then."""
        function = callee.v
        if function.home is not self:
            bound = self.bound_arguments(function, node, args, keywords, bound=callee.kind == BOUND)
            self.note_functions_given(function, node, bound)
            self.given_away(node, args, keywords)
            return
        if isinstance(named, ast.Name | ast.Attribute) and function.handed:
            function.handed.pop()
            function.escaped = bool(function.handed)
        given = self.bound_arguments(function, node, args, keywords, bound=callee.kind == BOUND)
        self.called_from(function, node, given)
        self.note_functions_given(function, node, given)
        if not function.relevant:
            for value in (*args, *keywords.values()):
                self.kept(value, "")

    def here(self) -> tuple[int, Tests]:
        """Where a call is made. A function that names no device and starts a process group by a
        helper says nothing of what it calls then: others start none."""
        frame = self.frame
        if frame.own and frame.function is not None and frame.function.leading:
            return ALL, NO_TESTS
        return frame.mask, frame.tests

    def taking(self, name: str, given: Iterable[Value]) -> Value | None:
        """What a name of the project holds that is called with what is `given`; one that only moves
        that is of no interest, unless it is wide."""
        assert self.project is not None
        found, values = self.project.value(name), list(given)
        if found is not None:
            self.placed_with(values)  # What becomes of a device there is told by that file.
        elif any(map(holds_wide, values)):
            return self.project.moving(name)
        return found

    def called_from(self, function: Function, node: ast.Call, given: Env) -> None:
        """Keeps that a function of this file is called here, and with what."""
        function.calls[id(node)] = (*self.here(), given)
        function.callers.add(self.frame.function)
        function.refused |= self.frame.refused
        function.gate = function.gate or self.frame.gate

    def bound_arguments(
        self, function: Function, node: ast.Call, args: list[Value], keywords: Env, *, bound: bool
    ) -> Env:
        """What the parameters of a function stand for in a call."""
        arguments = function.node.args
        names = positional_names(arguments)
        if function.cls is not None and not function.static:
            if bound or any(
                isinstance(item, ast.Name) and item.id == "classmethod"
                for item in function.node.decorator_list
            ):
                names = names[1:]
        given: Env = dict(zip(names, args, strict=False))
        given.update(keywords)
        if arguments.vararg is not None:
            given[arguments.vararg.arg] = Atom(SEQUENCE, tuple(args[len(names) :]))
        starred = any(isinstance(item, ast.Starred) for item in node.args)
        if starred or any(item.arg is None for item in node.keywords):
            # What is given by position, `**` cannot give.
            known = keywords if starred else given
            given.pop(arguments.vararg.arg if arguments.vararg is not None else "", None)
            unknown = dict.fromkeys([*names, *(item.arg for item in arguments.kwonlyargs)], UNK)
            given = {**unknown, **known}
        return {**given, **not_taken(function.node, names, keywords)}


def _wrapped(target: ast.expr | None) -> ast.Name | None:
    """The function that a call is given, and nothing else."""
    if not isinstance(target, ast.Call) or len(target.args) != 1 or target.keywords:
        return None
    return target.args[0] if isinstance(target.args[0], ast.Name) else None
