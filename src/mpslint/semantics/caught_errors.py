"""Whether a function deals with the error that a Mac meets in it: `try: x.double()` and `except
TypeError:` behind it, `with contextlib.suppress(TypeError):` around.

Who names the very error has tried what may fail. `except Exception:` around a whole program only
shows what went wrong; around one statement it is a trial as well.
"""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from mpslint.facts import machines as facts
from mpslint.semantics.index import FUNCTIONS
from mpslint.semantics.value_syntax import last_name

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
    last = handler.body[-1]
    if isinstance(last, ast.Raise):
        return False
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        if ast.unparse(last.value.func) in facts.EXITS:
            return False
    if handler.type is None:
        return alone
    return any(_is_for(kind, error, alone) for kind in _items(handler.type))


def _suppresses(context: Context, call: ast.expr, error: str) -> bool:
    if not isinstance(call, ast.Call) or context.resolve(call.func) != _SUPPRESSING:
        return False
    return any(_is_for(kind, error, True) for kind in call.args)


def _items(kinds: ast.expr) -> list[ast.expr]:
    return kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]


def _is_for(kind: ast.expr, error: str, alone: bool) -> bool:
    """Whether a handler for `kind` is meant for `error`: it, or what it is a kind of."""
    name = last_name(kind) or ""
    if name == error:
        return True
    caught, raised = getattr(builtins, name, None), getattr(builtins, error)
    return alone and isinstance(caught, type) and issubclass(raised, caught)
