"""What holds of statements whichever way a run takes through them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

JUMPS = (ast.Return, ast.Raise, ast.Continue, ast.Break)
"""What goes elsewhere than to the next statement."""


def ends_every_way(statement: ast.stmt, ends: Callable[[Sequence[ast.stmt]], bool]) -> bool:
    """Whether a statement with arms ends in a block that `ends`, on each way through it; False for
    one without arms, and for a loop, which may not run at all."""
    if isinstance(statement, ast.If):
        return ends(statement.body) and ends(statement.orelse)
    if isinstance(statement, ast.With | ast.AsyncWith):
        return ends(statement.body)
    if isinstance(statement, ast.Try):
        tried = ends(statement.body) or ends(statement.orelse)
        handled = all(ends(one.body) for one in statement.handlers)
        return ends(statement.finalbody) or (tried and handled)
    if isinstance(statement, ast.Match):
        last = statement.cases[-1]
        takes_all = isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None
        whole = takes_all and last.guard is None
        return whole and all(ends(one.body) for one in statement.cases)
    return False


def always_run(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a block that run whenever it does, as far as none before them ends it:
    those below a `with` among them."""
    for one in body:
        yield one
        if isinstance(one, ast.With | ast.AsyncWith):
            yield from always_run(one.body)
