"""Functions that list the devices of the machine, and what it says that one is among them:
`"mps" in devices_to_test()`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from mpslint.semantics.syntax.index import walk
from mpslint.semantics.terms.facts_known import backend_word
from mpslint.semantics.worlds.core import Core
from mpslint.semantics.worlds.machines import ALL, MACS, NVIDIA, PORTED
from mpslint.semantics.worlds.state import Function
from mpslint.semantics.worlds.values import (
    CONST,
    FUNCTION,
    NAME,
    NO_TESTS,
    UNKNOWN,
    Atom,
    Value,
    one,
    pack,
)

_HAVING = {"mps": MACS, "cuda": NVIDIA | PORTED}
_ADDING = frozenset({"append", "add"})
_DISPLAYS = (ast.List, ast.Tuple, ast.Set)


class ListedDevices(Core):
    def told_by_list(self, node: ast.Compare) -> Value | None:
        """What it says that a text is in the list which a function gives; None where that is not
        seen."""
        asked, call, operator = node.left, node.comparators[0], node.ops[0]
        if not isinstance(operator, ast.In | ast.NotIn) or not isinstance(call, ast.Call):
            return None
        device = backend_word(asked)
        function = self._called(call.func) if device in _HAVING else None
        if function is None or device is None:
            return None
        worlds = listed_on(function, device)
        if worlds & ~_HAVING[device]:
            return None
        (self.mps_tests if device == "mps" else self.cuda_tests).add(node)
        tests = frozenset((node,))
        absent = Atom(CONST, isinstance(operator, ast.NotIn), None, tests)
        return pack([(worlds, Atom(UNKNOWN, None, None, tests)), (ALL & ~worlds, absent)])

    def _called(self, name: ast.expr) -> Function | None:
        calling, self.calling = self.calling, True
        atom = one(self.eval(name), ALL)
        self.calling = calling
        if atom.kind == NAME and self.project is not None:
            found = self.project.value(str(atom.v))
            atom = one(found, ALL) if found is not None else atom
        return atom.v if atom.kind == FUNCTION else None


def listed_on(function: Function, device: str) -> int:
    """The worlds in which a function that fills a list of texts may have put this one into it; all,
    where not all that it puts there is seen."""
    home: Any = function.home
    if home is None or function.running or not function.relevant:
        return ALL
    texts = _listed(function.node)
    if texts is None:
        return ALL
    return _reached(home, function, [item for item, text in texts if text == device])


def _listed(function: ast.AST) -> list[tuple[ast.stmt, str]] | None:
    """The texts that a function puts into the list that it gives back, each with the statement
    that does so; None where there is anything else in it."""
    statements = [item for item in walk(function) if isinstance(item, ast.stmt)]
    given = [item.value for item in statements if isinstance(item, ast.Return)]
    names = {item.id for item in given if isinstance(item, ast.Name)}
    if len(names) != 1 or len(given) != sum(isinstance(item, ast.Name) for item in given):
        return None
    (name,) = names
    found: list[tuple[ast.stmt, str]] = []
    seen = len(given)
    for statement in statements:
        added = _added(statement, name)
        if added is None:
            continue
        seen += 1
        for item in added:
            if not isinstance(item, ast.Constant) or not isinstance(item.value, str):
                return None
            found.append((statement, item.value))
    uses = [item for item in walk(function) if isinstance(item, ast.Name) and item.id == name]
    asked = sum(1 for _ in _only_asked(function, name))
    return found if len(uses) == seen + asked else None


def _added(statement: ast.stmt, name: str) -> list[ast.expr] | None:
    """What a statement puts into the list of this name: `devices.append("mps")`, `devices = []`."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if isinstance(call.func, ast.Attribute) and _is(call.func.value, name):
            return call.args if call.func.attr in _ADDING else None
        return None
    target, value = _assigned(statement)
    if target is None or not _is(target, name) or not isinstance(value, _DISPLAYS):
        return None
    return value.elts


def _assigned(statement: ast.stmt) -> tuple[ast.expr | None, ast.expr | None]:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        return statement.targets[0], statement.value
    if isinstance(statement, ast.AnnAssign | ast.AugAssign):
        return statement.target, statement.value
    return None, None


def _only_asked(function: ast.AST, name: str) -> Iterator[ast.expr]:
    """Where a list is asked how long it is, or whether there is anything in it."""
    for item in walk(function):
        if isinstance(item, ast.Call) and _is(item.func, "len"):
            yield from (one for one in item.args if _is(one, name))
        elif isinstance(item, ast.If | ast.Assert) and _is(_plain(item.test), name):
            yield item.test


def _plain(test: ast.expr) -> ast.expr:
    return test.operand if isinstance(test, ast.UnaryOp) else test


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _reached(home: Any, function: Function, statements: list[ast.stmt]) -> int:
    """The worlds that come to one of these statements; the file keeps nothing of the run."""
    log, ends, reach = home.log, dict(home.ends), home.reach
    home.log, home.reach = [], {}
    try:
        given = home.parameters(function, ())
        home.enter(function, ALL, NO_TESTS, given, recording=True)
        worlds = 0
        for statement in statements:
            worlds |= home.reach.get(statement, 0)
        return worlds
    finally:
        home.log, home.reach = log, reach
        home.ends.clear()
        home.ends.update(ends)
