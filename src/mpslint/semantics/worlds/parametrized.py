"""What pytest gives a test: the cases of `@pytest.mark.parametrize`, each on the machines that its
marks leave."""

from __future__ import annotations

import ast

from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.worlds.expressions import Expressions, any_of
from mpslint.semantics.worlds.machines import ALL
from mpslint.semantics.worlds.state import Env
from mpslint.semantics.worlds.values import (
    NAME,
    UNKNOWN,
    Symbol,
    Value,
    left_by_marks,
    lift,
    one,
    restrict,
)

MAX_CASES = 64
"""Of a longer table nothing is told apart: it is data."""


class Parametrized(Expressions):
    def parametrize(self, decorator: ast.expr) -> ast.Call | None:
        """The decorator, if it is pytest's."""
        if not isinstance(decorator, ast.Call) or last_name(decorator.func) != "parametrize":
            return None
        maker = one(self.named_only(decorator.func), ALL)
        return decorator if maker.kind == NAME and maker.v == "pytest.mark.parametrize" else None

    def cases_of_test(self, call: ast.Call, mask: int) -> tuple[Env, int]:
        """What the parameters are in each world, and the worlds that have a case at all."""
        given = {item.arg: item.value for item in call.keywords}
        names = _names(call.args[0] if call.args else given.get("argnames"))
        table = call.args[1] if len(call.args) > 1 else given.get("argvalues")
        if not names or table is None:
            return {}, ALL
        rows = self._rows(table, len(names), call, mask)
        if rows is None or not 0 < len(rows) <= MAX_CASES:
            return {}, ALL
        left = 0
        for worlds, _ in rows:
            left |= worlds
        return {
            name: lift(any_of, *[restrict(row[at], worlds) for worlds, row in rows])
            for at, name in enumerate(names)
        }, left

    def _rows(
        self, table: ast.expr, width: int, call: ast.Call, mask: int
    ) -> list[tuple[int, list[Value]]] | None:
        frame = self.frame
        before, frame.mask = frame.mask, mask
        rows: list[tuple[int, list[Value]]] | None = []
        if isinstance(table, ast.List | ast.Tuple):
            for item in table.elts:
                worlds, values = self._row(item, width, call, mask)
                if rows is not None:
                    rows = [*rows, (worlds, values)] if values is not None else None
        else:
            self.eval(table)
            rows = None
        frame.mask = before
        return rows

    def _row(
        self, item: ast.expr, width: int, call: ast.Call, mask: int
    ) -> tuple[int, list[Value] | None]:
        """One case: the worlds that it is for, and its values."""
        left = ALL
        parts: list[ast.expr] | None = None
        if isinstance(item, ast.Call) and last_name(item.func) == "param":
            parts = item.args
            for keyword in item.keywords:
                if keyword.arg == "marks":
                    left = left_by_marks(self.eval(keyword.value))
        elif width > 1 and isinstance(item, ast.Tuple | ast.List):
            parts = item.elts
        elif width == 1:
            parts = [item]
        self.frame.mask = mask & left
        values: list[Value] | None = None
        if parts is None:
            self.eval(item)
        else:
            values = [self.eval(part) for part in parts]
        self.frame.mask = mask
        spread = any(isinstance(part, ast.Starred) for part in parts or ())
        return left, values if values is not None and len(values) == width and not spread else None


def with_symbol(value: Value, symbol: Symbol) -> Value:
    """The value, and where it is not known what it is, one thing in a run all the same."""
    return lift(
        lambda atom: atom.but(symbol=symbol) if atom.kind == UNKNOWN else atom,
        value,
    )


def _names(node: ast.expr | None) -> list[str]:
    """`"x, y"`, `["x", "y"]`"""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [name.strip() for name in node.value.split(",") if name.strip()]
    if isinstance(node, ast.List | ast.Tuple):
        items = [item.value for item in node.elts if isinstance(item, ast.Constant)]
        if len(items) == len(node.elts):
            return [str(item) for item in items]
    return []
