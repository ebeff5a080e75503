"""Functions that a program never calls before it has called another one: `train()`, then `test()`,
which reads the file that the first has written."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.order import precedes

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.syntax.index import FunctionNode


def comes_first(context: Context, writer: FunctionNode, reader: FunctionNode) -> bool:
    """Whether all who call the one have called the other before: `train()` above `test()`."""
    calls = _calls_alone(context, reader) if reader is not writer else []
    return bool(calls) and all(
        any(
            context.index.function(step) is context.index.function(call)
            and _owner_of(step) == _owner_of(call)
            and precedes(context, step, call)
            and not _is_optional(context, step, call)
            for step in context.index.calls.get(writer.name, ())
        )
        for call in calls
    )


def _is_optional(context: Context, step: ast.Call, call: ast.Call) -> bool:
    """Whether a run may come to a call without the step above it: `if args.train: train()`."""
    for parent in context.index.ancestors(step):
        if isinstance(parent, FUNCTIONS):
            return False
        tests = isinstance(parent, ast.If | ast.Match | ast.Try | ast.IfExp | ast.BoolOp)
        if tests and not context.index.within(call, parent):
            return True
    return False


def _calls_alone(context: Context, function: FunctionNode) -> list[ast.Call]:
    """The calls of a function, where its own file calls it and nobody has another use for it."""
    owner, name = context.index.parents[function], function.name
    method = isinstance(owner, ast.ClassDef)
    if not (method or isinstance(owner, ast.Module)) or function.decorator_list:
        return []
    found: list[ast.expr] = [
        use for use in context.index.names.get(name, ()) if isinstance(use.ctx, ast.Load)
    ]
    if method:
        found += context.index.attributes.get(name, ())
    calls = [context.index.parents[use] for use in found]
    called = [call for call in calls if isinstance(call, ast.Call) and call.func in found]
    if len(called) < len(found) or context.elsewhere is None:
        return []
    used = context.elsewhere.uses(context.source.path, name, method=method)
    return [] if used else called


def _owner_of(call: ast.Call) -> str:
    return ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
