"""Whether a function deals with the error that a Mac meets in it: `try: x.double()` and `except
TypeError:` behind it, `with contextlib.suppress(TypeError):` around.

Who names the very error has tried what may fail. `except Exception:` around a whole program only
shows what went wrong; around one statement it is a trial as well.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.giving_up import gives_up, raises_on
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.worlds.errors import kinds_of, may_catch

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_SIMPLE = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return)
_SUPPRESSING = "contextlib.suppress"


def is_caught(context: Context, node: ast.AST, error: str) -> bool:
    """Whether an `error` (of Python's own) that `node` raises is dealt with where it stands."""
    child: ast.AST = node
    for parent in context.index.ancestors(node):
        if isinstance(parent, (*FUNCTIONS, ast.Lambda)):
            return False
        if isinstance(parent, ast.Try) and child in parent.body:
            alone = len(parent.body) == 1 and isinstance(parent.body[0], _SIMPLE)
            if any(_deals_with(handler, error, alone=alone) for handler in parent.handlers):
                return True
        elif isinstance(parent, ast.With | ast.AsyncWith) and isinstance(child, ast.stmt):
            if any(_suppresses(context, item.context_expr, error) for item in parent.items):
                return True
        child = parent
    return False


def _deals_with(handler: ast.ExceptHandler, error: str, *, alone: bool) -> bool:
    if gives_up(handler.body) or raises_on(handler):
        return False
    return _is_for(kinds_of(handler.type), error, alone)


def _suppresses(context: Context, call: ast.expr, error: str) -> bool:
    if not isinstance(call, ast.Call) or context.resolve(call.func) != _SUPPRESSING:
        return False
    return any(_is_for(kinds_of(kind), error, True) for kind in call.args)


def _is_for(kinds: frozenset[str], error: str, alone: bool) -> bool:
    """Whether who names these kinds means `error`: it, or what it is a kind of."""
    return error in kinds or (alone and may_catch(kinds, error))
