"""Which assignments reach a use of a name.

A structured backward search over statements: exact for straight-line code and branches,
with the back edge of loops and the partial execution of `try` bodies included. Names of an
enclosing function or the module are seen with all their bindings, since nobody knows when the
inner function runs.
"""

from __future__ import annotations

import ast
from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence

from mpslint.semantics.names.names import Binding, Names, Scope
from mpslint.semantics.syntax.index import COMPREHENSIONS, FUNCTIONS, LOOPS, Index
from mpslint.semantics.syntax.ways_through import JUMPS

_BRANCHING = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match)
_TRY: tuple[type, ...] = (ast.Try, getattr(ast, "TryStar", ast.Try))
_DEFINITIONS = (*FUNCTIONS, ast.ClassDef)
_LEAVERS = {
    "sys.exit",
    "os._exit",
    "exit",
    "quit",
    "pytest.skip",
    "unittest.SkipTest",
    "pytest.exit",
    "pytest.fail",
}


def leaves(block: Sequence[ast.stmt]) -> bool:
    """Whether running `block` never goes on to the statement after it."""
    for statement in block:
        if isinstance(statement, JUMPS):
            return True
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            name = _spelled(statement.value.func)
            if name in _LEAVERS or (name or "").endswith((".skipTest", ".fail")):
                return True
        if isinstance(statement, ast.If) and leaves(statement.body) and leaves(statement.orelse):
            return True
        if isinstance(statement, ast.With | ast.AsyncWith) and leaves(statement.body):
            return True
    return False


def _spelled(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = _spelled(node.value)
        return f"{base}.{node.attr}" if base else None
    return None


class Flow:
    """Reaching definitions, computed on demand and remembered."""

    def __init__(self, index: Index, names: Names) -> None:
        self._index = index
        self._names = names
        self._carriers: dict[tuple[Scope, str], dict[ast.AST, list[Binding]]] = {}
        self._carrier_rows: dict[tuple[Scope, str], dict[int, list[int]]] = {}
        """Where they stand in their blocks, by the block."""
        self._found: dict[ast.Name, tuple[Binding, ...]] = {}

    def reaching(self, name: ast.Name) -> tuple[Binding, ...]:
        """The bindings that may have given `name` the value it is read with here.

        Empty for builtins, unknown names and names that are bound only after the use.
        """
        known = self._found.get(name)
        if known is None:
            known = self._found[name] = self._reaching(name.id, name)
        return known

    def reaching_name(self, name: str, at: ast.AST) -> tuple[Binding, ...]:
        """As `reaching`, for a name that is not written at `at`."""
        return self._reaching(name, at)

    def surely_bound(self, name: str, at: ast.AST) -> bool:
        """Whether every way to `at` binds `name` first, in the scope of `at` itself."""
        scope = self._names.owner(name, at)
        if scope is None or self._names.scope_of(at) is not scope:
            return False
        found: list[Binding] = []
        return self._search(scope, name, at, found) and not any(b.kind == "delete" for b in found)

    def _reaching(self, name: str, at: ast.AST) -> tuple[Binding, ...]:
        scope = self._names.owner(name, at)
        if scope is None:
            return ()
        bindings = scope.bindings[name]
        here = self._run_at_once(at, scope)
        if here is None:
            return tuple(bindings)
        at = here
        if isinstance(
            scope.node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.Lambda
        ):
            return tuple(bindings)
        found: list[Binding] = []
        self._search(scope, name, at, found)
        return tuple(dict.fromkeys(found))

    def _run_at_once(self, at: ast.AST, scope: Scope) -> ast.AST | None:
        """Where `at` is run, in `scope` itself: a comprehension is run where it stands, so the
        names of the code around it have the values that they have there. None in what is run
        later, a function or a generator that is kept."""
        around = self._names.scope_of(at)
        while around is not scope:
            at = around.node
            if isinstance(at, ast.GeneratorExp):
                if not isinstance(self._index.parents.get(at), ast.Call):
                    return None
            elif not isinstance(at, ast.ListComp | ast.SetComp | ast.DictComp):
                return None
            around = self._names.scope_of(at)
        return at

    def _carrying(self, scope: Scope, name: str) -> dict[ast.AST, list[Binding]]:
        """Statement -> bindings of `name` in or below it, for every statement that has some."""
        key = (scope, name)
        carriers = self._carriers.get(key)
        if carriers is None:
            carriers = self._carriers[key] = {}
            for binding in scope.bindings[name]:
                node: ast.AST | None = binding.node
                while node is not None and node is not scope.node:
                    carriers.setdefault(node, []).append(binding)
                    node = self._index.parents.get(node)
        return carriers

    def _carriers_before(self, statement: ast.stmt, scope: Scope, name: str) -> Iterator[ast.stmt]:
        """Those of the statements in front of `statement`, in its own block, that bind `name`
        themselves or below; the nearest first."""
        place = self._index.place(statement)
        if place is None:
            return
        key = (scope, name)
        rows = self._carrier_rows.get(key)
        if rows is None:
            rows = self._carrier_rows[key] = {}
            for carrier in self._carrying(scope, name):
                if (found := self._index.place(carrier)) is not None:
                    insort(rows.setdefault(id(found[0]), []), found[1])
        block, row = place
        numbers = rows.get(id(block), [])
        for at in range(bisect_left(numbers, row) - 1, -1, -1):
            yield block[numbers[at]]

    def _search(self, scope: Scope, name: str, at: ast.AST, found: list[Binding]) -> bool:
        """Add the bindings that reach `at`; whether one does on every way there."""
        carriers, parents = self._carrying(scope, name), self._index.parents
        child: ast.AST = at
        parent = parents.get(at)
        own: ast.stmt | None = None
        while parent is not None:
            if isinstance(child, ast.stmt):
                if own is None:
                    own = child
                    if own in carriers and self._before(own, at, carriers, found):
                        return True
                for statement in self._carriers_before(child, scope, name):
                    if self._from(statement, carriers, found):
                        return True
            if self._entering(parent, child, carriers, found):
                return True
            if parent is scope.node:
                parameters = [b for b in scope.bindings[name] if b.kind == "parameter"]
                found += parameters
                return bool(parameters)
            child, parent = parent, parents.get(parent)
        return False

    def _entering(
        self,
        parent: ast.AST,
        child: ast.AST,
        carriers: dict[ast.AST, list[Binding]],
        found: list[Binding],
    ) -> bool:
        """What `parent` itself binds before control comes to its part `child`."""
        if parent not in carriers or not isinstance(
            child, ast.stmt | ast.ExceptHandler | ast.match_case
        ):
            return False
        if self._from_head(parent, carriers, found, inside=child):
            return True
        if isinstance(parent, ast.For | ast.AsyncFor) and _among(child, parent.body):
            mine = [b for b in carriers[parent] if b.node is parent and b.kind == "for"]
            if mine:
                found += mine
                return True
        if isinstance(parent, LOOPS) and _among(child, parent.body):
            for statement in parent.body:
                found += carriers.get(statement, ())
        elif isinstance(parent, ast.With | ast.AsyncWith):
            mine = [b for b in carriers[parent] if b.node is parent and b.kind == "with"]
            found += mine
            return bool(mine)
        elif isinstance(parent, ast.match_case):
            mine = [b for b in carriers[parent] if self._index.within(b.node, parent.pattern)]
            found += mine
            return bool(mine)
        elif isinstance(parent, ast.ExceptHandler):
            mine = [b for b in carriers[parent] if b.node is parent]
            found += mine
            return bool(mine)
        elif isinstance(parent, _TRY):
            body: list[ast.stmt] = parent.body  # type: ignore[attr-defined]
            if _among(child, parent.orelse):  # type: ignore[attr-defined]
                return self._from_block(body, carriers, found)
            if not _among(child, body):
                for statement in body:
                    found += carriers.get(statement, ())
        return False

    def _from(
        self, statement: ast.stmt, carriers: dict[ast.AST, list[Binding]], found: list[Binding]
    ) -> bool:
        """Add what `statement` binds; whether it binds on every way through."""
        if isinstance(statement, _DEFINITIONS):
            # `global x` in its body: bound when somebody has called it.
            found += carriers[statement]
            return any(b.node is statement for b in carriers[statement])
        if not isinstance(statement, _BRANCHING + _TRY):
            found += carriers[statement]
            return any(
                b.kind != "walrus" or self._certain(b.node, statement, None)
                for b in carriers[statement]
            )
        if isinstance(statement, ast.If):
            through = self._from_arms([statement.body, statement.orelse], carriers, found)
            return through or self._from_head(statement, carriers, found)
        if isinstance(statement, ast.Match):
            arms = [case.body for case in statement.cases]
            total = any(_matches_all(case) for case in statement.cases)
            through = self._from_arms(arms, carriers, found) and total
            found += [b for b in carriers[statement] if b.kind == "match"]
            return through or self._from_head(statement, carriers, found)
        if isinstance(statement, ast.With | ast.AsyncWith):
            if self._from_block(statement.body, carriers, found):
                return True
            mine = [b for b in carriers[statement] if b.node is statement]
            found += mine
            return bool(mine) or self._from_head(statement, carriers, found)
        if isinstance(statement, ast.For | ast.AsyncFor | ast.While):
            found += carriers[statement]
            return False
        return self._from_try(statement, carriers, found)

    # assignment expressions

    def _before(
        self,
        statement: ast.stmt,
        at: ast.AST,
        carriers: dict[ast.AST, list[Binding]],
        found: list[Binding],
    ) -> bool:
        """`(x := 1) and x`: what the expressions of a statement bind before they come to `at`."""
        sure = False
        for binding in carriers[statement]:
            if binding.kind == "walrus" and self._precedes(binding.node, at, statement):
                found.append(binding)
                sure = sure or self._certain(binding.node, statement, at)
        return sure

    def _precedes(self, walrus: ast.AST, at: ast.AST, statement: ast.stmt) -> bool:
        if _end(walrus) <= _start(at):
            return True
        for parent in self._index.ancestors(at):
            if parent is statement:
                return False
            if isinstance(parent, ast.IfExp) and self._index.within(walrus, parent.test):
                return not self._index.within(at, parent.test)
        return False

    def _from_head(
        self,
        statement: ast.AST,
        carriers: dict[ast.AST, list[Binding]],
        found: list[Binding],
        inside: ast.AST | None = None,
    ) -> bool:
        """What `if (x := 1):` and its like bind; whether they surely do (`inside` the body, or
        behind the statement)."""
        mine = [b for b in carriers[statement] if b.kind == "walrus"]
        if not mine or (isinstance(statement, ast.For | ast.AsyncFor) and inside is None):
            return False
        for field in ("test", "iter", "subject", "items"):
            head = getattr(statement, field, None)
            for part in head if isinstance(head, list) else [head]:
                if not isinstance(part, ast.AST):
                    continue
                here = [b for b in mine if self._index.within(b.node, part)]
                found += here
                if any(self._certain(b.node, statement, inside) for b in here):
                    return True
        return False

    def _certain(self, walrus: ast.AST, statement: ast.AST, at: ast.AST | None) -> bool:
        """Whether a walrus has been evaluated by all that leads from its statement to `at`."""
        child = walrus
        for parent in self._index.ancestors(walrus):
            if parent is statement:
                return True
            if isinstance(parent, ast.IfExp) and child is not parent.test:
                return False
            if isinstance(parent, COMPREHENSIONS):
                return False
            if isinstance(parent, ast.BoolOp) and child is not parent.values[0]:
                body = getattr(statement, "body", ())
                led = isinstance(parent.op, ast.And) and any(item is at for item in body)
                if not led and (at is None or not self._index.within(at, parent)):
                    return False
            child = parent
        return False

    # blocks

    def _from_arms(
        self,
        arms: list[list[ast.stmt]],
        carriers: dict[ast.AST, list[Binding]],
        found: list[Binding],
    ) -> bool:
        definite = True
        for arm in arms:
            if leaves(arm):
                continue
            definite &= self._from_block(arm, carriers, found)
        return definite

    def _from_block(
        self, block: list[ast.stmt], carriers: dict[ast.AST, list[Binding]], found: list[Binding]
    ) -> bool:
        return any(
            statement in carriers and self._from(statement, carriers, found)
            for statement in reversed(block)
        )

    def _from_try(
        self, statement: ast.stmt, carriers: dict[ast.AST, list[Binding]], found: list[Binding]
    ) -> bool:
        body: list[ast.stmt] = statement.body  # type: ignore[attr-defined]
        handlers: list[ast.ExceptHandler] = statement.handlers  # type: ignore[attr-defined]
        orelse: list[ast.stmt] = statement.orelse  # type: ignore[attr-defined]
        final: list[ast.stmt] = statement.finalbody  # type: ignore[attr-defined]
        if self._from_block(final, carriers, found):
            return True
        through = self._from_block(orelse, carriers, found) or self._from_block(
            body, carriers, found
        )
        handled = self._from_arms([handler.body for handler in handlers], carriers, found)
        return through and handled


def _start(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _end(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "end_lineno", 0), getattr(node, "end_col_offset", 0)


def _among(child: ast.AST, block: list[ast.stmt]) -> bool:
    return child in block


def _matches_all(case: ast.match_case) -> bool:
    return (
        isinstance(case.pattern, ast.MatchAs)
        and case.pattern.pattern is None
        and case.guard is None
    )
