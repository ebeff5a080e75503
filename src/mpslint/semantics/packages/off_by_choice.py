"""Mixed precision that a program itself leaves to CUDA, by a function that looks where a model is.

`self.amp = check_amp(model)`, whose `if device.type in ("cpu", "mps"): return False` comes first:
on a Mac it is off, since somebody has decided so.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import keyword, last_name
from mpslint.semantics.syntax.index import FUNCTIONS, below

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.names.names import Binding
    from mpslint.semantics.syntax.index import FunctionNode

_SAID_BY = (b"False",)
_TO_ENABLE = {"autocast": 0}
"""Where `enabled` stands among the arguments; `GradScaler` is told it by name."""


def is_off_by_choice(context: Context, call: ast.Call) -> bool:
    """Whether what enables a scaler or an autocast is the answer of a function that says no for a
    device that is not CUDA's."""
    enabled = keyword(call, "enabled")
    place = _TO_ENABLE.get(last_name(call.func) or "")
    if enabled is None and place is not None and len(call.args) > place:
        enabled = call.args[place]
    if enabled is None:
        return False
    asked = (item for value in (enabled, *_given(context, enabled)) for item in below(value))
    return any(
        isinstance(item, ast.Call) and _says_no(context, item)
        for item in (enabled, *_given(context, enabled), *asked)
    )


def is_off_for_users(context: Context, node: ast.AST) -> bool:
    """Whether this stands in what the module keeps for others (`autocast = partial(...)`), all of
    whom come to it, or switch it on, only where CUDA is."""
    statement = context.index.statement(node)
    if context.imported is None or not isinstance(statement, ast.Assign):
        return False
    (target, *more), value = statement.targets, statement.value
    if more or not isinstance(target, ast.Name) or not isinstance(value, ast.Call):
        return False
    if last_name(value.func) != "partial" or context.index.function(statement) is not None:
        return False
    uses = context.index.names.get(target.id, ())
    if any(isinstance(use.ctx, ast.Load) for use in uses):
        return False
    return "cuda" in context.imported.entered(target.id)


def _given(context: Context, node: ast.expr) -> Iterator[ast.expr]:
    """What a name, or an attribute of the object, is given somewhere."""
    if isinstance(node, ast.Name):
        yield from (one.value for one in context.flow.reaching(node) if one.value is not None)
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        if node.value.id == "self":
            yield from context.guards.assigned(node)


def _says_no(context: Context, call: ast.Call) -> bool:
    return any(_refuses_off_cuda(function) for function in _called(context, call))


def _called(context: Context, call: ast.Call) -> Iterator[FunctionNode]:
    """The function, of this file or of another one of the project."""
    if not isinstance(call.func, ast.Name):
        return
    bindings: Iterable[Binding] = context.names.bindings(call.func.id, call.func)
    if any(one.kind == "import" for one in bindings):
        qualified = context.resolve(call.func)
        found = context.definition_elsewhere(qualified, _SAID_BY) if qualified else None
        bindings = found.bindings if found is not None else ()
    yield from (one.node for one in bindings if isinstance(one.node, FUNCTIONS))


def _refuses_off_cuda(function: FunctionNode) -> bool:
    return any(
        isinstance(statement, ast.If)
        and isinstance(statement.body[-1], ast.Return)
        and isinstance(statement.body[-1].value, ast.Constant)
        and statement.body[-1].value.value is False
        and _leaves_cuda_alone(statement.test)
        for statement in function.body
    )


def _leaves_cuda_alone(test: ast.expr) -> bool:
    """`device.type in ("cpu", "mps")`, `device.type == "mps"`, `device.type != "cuda"`"""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    other = test.comparators[0]
    texts = [
        item.value
        for item in (other.elts if isinstance(other, ast.Tuple | ast.List | ast.Set) else [other])
        if isinstance(item, ast.Constant)
    ]
    if isinstance(test.ops[0], ast.Eq | ast.In):
        return "mps" in texts
    return isinstance(test.ops[0], ast.NotEq | ast.NotIn) and texts == ["cuda"]
