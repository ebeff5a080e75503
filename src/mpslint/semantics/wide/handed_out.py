"""What the data sets of a file hand out under a key of a dictionary: wide arrays of NumPy's become
wide tensors, once a loader makes batches of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import root_of
from mpslint.semantics.syntax.index import FUNCTIONS, walk
from mpslint.semantics.syntax.methods import methods_named

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_WIDE = frozenset({"float64", "complex128"})


def hands_out_wide(context: Context, key: str) -> bool:
    """Whether `dataset[i][key]` may be an array that is float64 or complex128: something that is
    handed out with it is for sure, and it is not known for another."""
    return any(
        context.dtypes.array(given[key]) in (None, *_WIDE)
        and any(_is_wide(context, value, klass) for value in given.values())
        for klass in context.index.of(ast.ClassDef)
        for method in methods_named(klass, "__getitem__")
        for given in _handed_out(method)
        if key in given
    )


def _handed_out(method: ast.AST) -> Iterator[dict[object, ast.expr]]:
    for node in walk(method):
        if isinstance(node, ast.Dict):
            yield {
                name.value: value
                for name, value in zip(node.keys, node.values, strict=True)
                if isinstance(name, ast.Constant)
            }


def _is_wide(context: Context, value: ast.expr, klass: ast.ClassDef) -> bool:
    if context.dtypes.array(value) in _WIDE:
        return True
    value = root_of(value, ast.Subscript)
    if not isinstance(value, ast.Attribute) or not isinstance(value.value, ast.Name):
        return False
    given = [made for made in _assigned(context, klass) if made[0] == ast.unparse(value)]
    return bool(given) and all(_gives_wide(context, call, at) for _, call, at in given)


def _assigned(context: Context, klass: ast.ClassDef) -> Iterator[tuple[str, ast.expr, int]]:
    """What a class gives its objects: the name, what it comes from, and which part of that it is
    (-1: all)."""
    for node in context.index.of(ast.Assign):
        if context.index.within(node, klass):
            for target in node.targets:
                if isinstance(target, ast.Tuple):
                    for at, item in enumerate(target.elts):
                        yield ast.unparse(item), node.value, at
                else:
                    yield ast.unparse(target), node.value, -1


def _gives_wide(context: Context, made: ast.expr, at: int) -> bool:
    if context.dtypes.array(made) in _WIDE:
        return at == -1
    if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Name):
        return False
    returned = [
        node.value
        for function in context.tree.body
        if isinstance(function, FUNCTIONS) and function.name == made.func.id
        for node in walk(function)
        if isinstance(node, ast.Return) and node.value is not None
    ]
    parts = [_part(value, at) for value in returned]
    return bool(parts) and all(one is not None and _holds_wide(context, one) for one in parts)


def _part(value: ast.expr, at: int) -> ast.expr | None:
    if at == -1:
        return value
    is_there = isinstance(value, ast.Tuple) and at < len(value.elts)
    return value.elts[at] if is_there and isinstance(value, ast.Tuple) else None


def _holds_wide(context: Context, value: ast.expr) -> bool:
    """Whether an array is wide: what is written into it changes nothing of that."""
    return context.dtypes.array(value) in _WIDE
