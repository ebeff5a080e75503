"""Which calls of a function come to a place in it, by the switches that they hand over.

`run(batch, save=False)` goes past what stands below `if save:`; so does `run(batch)`, where that is
the default.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.semantics.index import FUNCTIONS, FunctionNode, Index
from mpslint.semantics.value_syntax import keyword, last_name

Switches = frozenset[tuple[str, bool]]


def switches_of(index: Index, node: ast.AST) -> Switches:
    """The parameters of the function around `node` that have to be true, or false, where a call
    comes to it. One that the function gives another value says nothing."""
    found: set[tuple[str, bool]] = set()
    child = node
    for parent in index.ancestors(node):
        if isinstance(parent, FUNCTIONS):
            names = {arg.arg for arg in _parameters(parent)}
            return frozenset(
                (name, on) for name, on in found if name in names and _is_kept(index, parent, name)
            )
        if isinstance(parent, ast.If) and child is not parent.test:
            found.update(_asked(parent.test, child in parent.body))
        child = parent
    return frozenset()


def comes_by(index: Index, function: FunctionNode, call: ast.Call, switches: Switches) -> bool:
    """Whether a call may hand over what `switches` ask for."""
    if any(isinstance(item, ast.Starred) for item in call.args):
        return True
    if any(item.arg is None for item in call.keywords):
        return True
    bound = isinstance(index.parents[function], ast.ClassDef) and not any(
        last_name(item) == "staticmethod" for item in function.decorator_list
    )
    return all(_may_be(_given(function, call, name, bound), on) for name, on in switches)


def _asked(test: ast.expr, outcome: bool) -> Iterator[tuple[str, bool]]:
    if isinstance(test, ast.Name):
        yield test.id, outcome
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _asked(test.operand, not outcome)
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) == outcome:
        for item in test.values:
            yield from _asked(item, outcome)


def _parameters(function: FunctionNode) -> list[ast.arg]:
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def _is_kept(index: Index, function: FunctionNode, name: str) -> bool:
    return not any(
        isinstance(use.ctx, ast.Store) and index.function(use) is function
        for use in index.names.get(name, ())
    )


def _given(function: FunctionNode, call: ast.Call, name: str, bound: bool) -> ast.expr | None:
    """What a call gives a parameter, or its default; None: nobody says."""
    told = keyword(call, name)
    if told is not None:
        return told
    arguments = function.args
    places = [arg.arg for arg in (*arguments.posonlyargs, *arguments.args)]
    if name in places:
        at = places.index(name)
        given = at - 1 if bound else at
        if 0 <= given < len(call.args):
            return call.args[given]
        default = at - len(places) + len(arguments.defaults)
        return arguments.defaults[default] if default >= 0 else None
    only = [arg.arg for arg in arguments.kwonlyargs]
    return arguments.kw_defaults[only.index(name)] if name in only else None


def _may_be(value: ast.expr | None, on: bool) -> bool:
    return not isinstance(value, ast.Constant) or bool(value.value) is on
