"""Statements that end a run, or the function that they stand in, by an error."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mpslint.facts import machines as facts
from mpslint.semantics.syntax.expressions import last_name, names_in
from mpslint.semantics.syntax.index import walk
from mpslint.semantics.syntax.ways_through import ends_every_way

_EXITS = frozenset(name.rpartition(".")[2] for name in facts.EXITS)
_LEAVING = (ast.Return, ast.Continue, ast.Break)


def gives_up(block: Sequence[ast.stmt]) -> bool:
    """Whether a block never ends but in an error or an exit, on whatever way through it."""
    if any(isinstance(item, _LEAVING) for statement in block for item in walk(statement)):
        return False
    return any(map(_gives_up, block))


def raises_on(handler: ast.ExceptHandler) -> bool:
    """Whether a handler looks into the error, and raises on what a Mac meets: where no text of
    MPS's is asked for, nothing says which errors it keeps."""
    return handler.name is not None and any(
        isinstance(branch, ast.If)
        and handler.name in names_in(branch.test)
        and any(isinstance(item, ast.Raise) for arm in _arms_of_mps(branch) for item in walk(arm))
        for statement in handler.body
        for branch in walk(statement)
    )


def _arms_of_mps(branch: ast.If) -> list[ast.stmt]:
    """What runs of an arm for an error that names MPS: `if "MPS" in str(error):`; of one that asks
    for something else, perhaps all."""
    test = branch.test
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.In | ast.NotIn):
        asked = test.left.value if isinstance(test.left, ast.Constant) else None
        if isinstance(asked, str) and "mps" in asked.lower():
            return branch.body if isinstance(test.ops[0], ast.In) else branch.orelse
    return [*branch.body, *branch.orelse]


def _gives_up(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Raise):
        return True
    if isinstance(statement, ast.Expr):
        call = statement.value
        return isinstance(call, ast.Call) and last_name(call.func) in _EXITS
    return ends_every_way(statement, gives_up)
