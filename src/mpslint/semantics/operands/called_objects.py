"""Where an object of a module's class is called, which is where it computes.

`criterion(x.cpu(), y)` behind `criterion = nn.CTCLoss()`: by a name, an attribute, or a parameter
of a function of the file that is given it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode
from mpslint.semantics.syntax.parameters import explicit_parameters, positional_parameters

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.names.names import Scope

_ITSELF = frozenset({"cpu", "cuda", "double", "eval", "float", "half", "to", "train"})
"""Methods of a module that give itself."""
_CALLING = frozenset({"__call__", "forward"})


def calls_of_object(context: Context, made: ast.expr) -> list[ast.Call] | None:
    """The calls of what `made` makes; None where they are not all seen."""
    seen: set[object] = set()
    found = list(_uses(context, made, seen))
    calls = [use for use in found if isinstance(use, ast.Call)]
    return calls if calls and len(calls) == len(found) else None


def _uses(context: Context, node: ast.expr, seen: set[object]) -> Iterator[ast.Call | None]:
    """The calls that an expression leads to; None for a use that may lead to any."""
    parent = context.index.parents[node]
    if isinstance(parent, ast.Call) and parent.func is node:
        yield parent
    elif isinstance(parent, ast.Attribute):
        call = context.index.parents[parent]
        if isinstance(call, ast.Call) and call.func is parent and parent.attr in _ITSELF:
            if not isinstance(context.index.parents[call], ast.Expr):
                yield from _uses(context, call, seen)
        elif parent.attr in _CALLING:
            yield None
    elif isinstance(parent, ast.Assign | ast.AnnAssign):
        targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
        for target in targets:
            yield from _of_target(context, target, seen)
    elif isinstance(parent, ast.Call):
        yield from _of_argument(context, parent, node, seen)
    elif isinstance(parent, ast.keyword):
        call = context.index.parents[parent]
        if isinstance(call, ast.Call):
            yield from _of_argument(context, call, parent, seen)
        else:
            yield None
    else:
        yield None


def _of_target(context: Context, target: ast.expr, seen: set[object]) -> Iterator[ast.Call | None]:
    if isinstance(target, ast.Name):
        yield from _of_name(context, target.id, context.names.owner(target.id, target), seen)
    elif isinstance(target, ast.Attribute) and target.attr not in seen:
        seen.add(target.attr)
        for use in context.index.attributes.get(target.attr, ()):
            if isinstance(use.ctx, ast.Load):
                yield from _uses(context, use, seen)
    elif not isinstance(target, ast.Attribute):
        yield None


def _of_name(
    context: Context, name: str, scope: Scope | None, seen: set[object]
) -> Iterator[ast.Call | None]:
    if (name, scope) in seen:
        return
    seen.add((name, scope))
    for use in context.index.names.get(name, ()):
        if isinstance(use.ctx, ast.Load) and context.names.owner(use.id, use) is scope:
            yield from _uses(context, use, seen)


def _of_argument(
    context: Context, call: ast.Call, given: ast.expr | ast.keyword, seen: set[object]
) -> Iterator[ast.Call | None]:
    """What a function of the file does with what it is given."""
    function = _function(context, call)
    parameter = _parameter(function, call, given) if function is not None else None
    if function is None or parameter is None:
        yield None
    else:
        inside = context.names.owner(parameter.arg, function.body[0])
        yield from _of_name(context, parameter.arg, inside, seen)


def _function(context: Context, call: ast.Call) -> FunctionNode | None:
    """The one function of the file that goes by the name that is called, outside of classes."""
    if not isinstance(call.func, ast.Name):
        return None
    bindings = context.names.bindings(call.func.id, call.func)
    node = bindings[0].node if len(bindings) == 1 else None
    return node if isinstance(node, FUNCTIONS) else None


def _parameter(
    function: FunctionNode, call: ast.Call, given: ast.expr | ast.keyword
) -> ast.arg | None:
    if isinstance(given, ast.keyword):
        named = explicit_parameters(function.args)
        return next((one for one in named if one.arg == given.arg), None)
    at = call.args.index(given)
    placed = positional_parameters(function.args)
    is_open = any(isinstance(one, ast.Starred) for one in call.args[:at])
    return placed[at] if at < len(placed) and not is_open else None
