"""Whether all that becomes of a tensor is read by the host in the end: `values.max().item()`, also
by way of names that are computed from it alone.

Where such a tensor is computed on the CPU it may stay there: nothing on a device meets it.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_READING = frozenset({"item", "tolist", "cpu", "numpy"})
_PLAIN = frozenset({"shape", "dtype", "ndim"})
_TAKING = frozenset({"float", "int", "bool", "print", "str", "len"})
_MOVING = frozenset({"to", "cuda", "type", "type_as", "requires_grad_", "backward"})
_MOST_NAMES = 8


def ends_on_host(context: Context, node: ast.expr) -> bool:
    """Whether what an expression gives meets nothing but itself, and numbers, until it is read."""
    names = _made_of(context, node)
    return names is not None and all(
        _is_read(context, one, names)
        for one in (node, *(use for name in names for use in _loads(context, name, node)))
    )


def _made_of(context: Context, node: ast.expr) -> set[str] | None:
    """The names of the function that are computed from it; None where one is bound twice, or is
    not the function's alone."""
    names: set[str] = set()
    waiting: list[ast.AST] = [node]
    for start in waiting:  # It grows meanwhile.
        target = _target(context, start)
        if target is None or target.id in names:
            continue
        scope = context.names.scope_of(node)
        bound = scope.bindings.get(target.id, [])
        if len(bound) != 1 or context.index.function(node) is None or len(names) >= _MOST_NAMES:
            return None
        if context.names.owner(target.id, target) is not scope:
            return None
        names.add(target.id)
        waiting += _loads(context, target.id, node)
    return names


def _loads(context: Context, name: str, node: ast.AST) -> list[ast.Name]:
    scope = context.names.scope_of(node)
    return [
        use
        for use in context.index.names.get(name, ())
        if isinstance(use.ctx, ast.Load) and context.names.owner(name, use) is scope
    ]


def _target(context: Context, node: ast.AST) -> ast.Name | None:
    """The name that a statement gives what is computed with `node`."""
    statement = context.index.statement(node)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    if _reads(context, node, statement) or not isinstance(statement.targets[0], ast.Name):
        return None
    return statement.targets[0]


def _reads(context: Context, node: ast.AST, statement: ast.stmt) -> bool:
    """Whether a read of the host stands between an expression and its statement."""
    for parent in context.index.ancestors(node):
        if parent is statement:
            return False
        if isinstance(parent, ast.Attribute) and parent.attr in _READING | _PLAIN:
            return True
        if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name):
            return parent.func.id in _TAKING
    return False


def _is_read(context: Context, node: ast.expr, names: set[str]) -> bool:
    """Whether an expression is read, or computed with, where it stands, as one of these is."""
    parent = context.index.parents[node]
    if isinstance(parent, ast.Attribute):
        return _is_of_method(context, parent, names)
    if isinstance(parent, ast.BinOp):
        other = parent.right if parent.left is node else parent.left
        return _is_of(other, names) and _is_read(context, parent, names)
    if isinstance(parent, ast.UnaryOp):
        return isinstance(parent.op, ast.Not) or _is_read(context, parent, names)
    if isinstance(parent, ast.Compare):
        around = context.index.parents[parent]
        others = all(_is_of(one, names) for one in (parent.left, *parent.comparators))
        return others and isinstance(around, ast.If | ast.While | ast.IfExp | ast.BoolOp)
    if isinstance(parent, ast.Subscript) and parent.value is node:
        return _is_of(parent.slice, names) and _is_read(context, parent, names)
    if isinstance(parent, ast.Call):
        function = parent.func
        return isinstance(function, ast.Name) and function.id in _TAKING
    if isinstance(parent, ast.Assign):
        (target, *more) = parent.targets
        return not more and isinstance(target, ast.Name) and target.id in names
    return isinstance(parent, ast.FormattedValue | ast.If | ast.While | ast.Expr)


def _is_of_method(context: Context, parent: ast.Attribute, names: set[str]) -> bool:
    if parent.attr in _READING | _PLAIN:
        return True
    call = context.index.parents[parent]
    if parent.attr in _MOVING or not isinstance(call, ast.Call) or call.func is not parent:
        return False
    given = [*call.args, *(one.value for one in call.keywords)]
    return all(_is_of(one, names) for one in given) and _is_read(context, call, names)


def _is_of(node: ast.expr, names: set[str]) -> bool:
    """Whether an expression is made of these names and of what is written out alone."""
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and one.id not in names:
            return False
        if isinstance(one, ast.Call) and not isinstance(one.func, ast.Attribute):
            return False
    return True
