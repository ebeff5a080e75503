"""Lists of a function's own that are empty until something is put into them: where nothing is, a
loop over one takes no turn. `devices = []`, filled under `device.type == "cuda"`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from mpslint.semantics.syntax.index import FunctionNode, statements, walk

_ADDING = frozenset({"append", "extend", "insert"})
_LOOKING = frozenset({"len", "bool", "enumerate", "list", "tuple", "sorted", "print", "str"})
"""Functions of Python's own that leave a list as it is."""


def iterated(node: ast.expr) -> str | None:
    """The name of what a loop takes its turns from: `items` and `enumerate(items)`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
        node = node.args[0] if node.func.id == "enumerate" else node
    return node.id if isinstance(node, ast.Name) else None


def filled_by(
    function: FunctionNode, name: str, is_of_torch: Callable[[ast.expr], bool]
) -> list[ast.stmt]:
    """The statements that put something into a list that is empty at first; none where it is not
    empty, or others may fill it. Torch's functions fill no list that they are given."""
    fills: list[ast.stmt] = []
    seen, is_empty = 0, False
    for item in statements(function):
        for target, value in _bindings(item):
            if isinstance(target, ast.Name) and target.id == name:
                seen += 1
                if _is_empty_list(value):
                    is_empty = True
                else:
                    fills.append(item)  # type: ignore[arg-type]
        if isinstance(item, ast.Expr) and _adds_to(item.value, name):
            seen += 1
            fills.append(item)
    if not is_empty or not fills:
        return []
    uses = 0
    for part in walk(function):
        if isinstance(part, ast.Name) and part.id == name:
            uses += 1
        elif _is_bound_elsewhere(part, name):
            return []
        seen += sum(
            isinstance(one, ast.Name) and one.id == name for one in _looked_at(part, is_of_torch)
        )
    return fills if seen == uses else []


def _is_bound_elsewhere(part: ast.AST, name: str) -> bool:
    if isinstance(part, ast.Global | ast.Nonlocal):
        return name in part.names
    return isinstance(part, ast.arg) and part.arg == name


def _bindings(statement: ast.AST) -> list[tuple[ast.expr, ast.expr | None]]:
    if isinstance(statement, ast.Assign):
        return [(target, statement.value) for target in statement.targets]
    if isinstance(statement, ast.AnnAssign | ast.AugAssign):
        return [(statement.target, statement.value)]
    return []


def _is_empty_list(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        return value.func.id == "list" and not value.args
    return isinstance(value, ast.List) and not value.elts


def _adds_to(value: ast.expr, name: str) -> bool:
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr in _ADDING
        and isinstance(value.func.value, ast.Name)
        and value.func.value.id == name
    )


def _looked_at(part: ast.AST, is_of_torch: Callable[[ast.expr], bool]) -> list[ast.expr]:
    """What a part of a program takes as it is, and leaves so."""
    if isinstance(part, ast.For | ast.AsyncFor | ast.comprehension):
        return [part.iter]
    if isinstance(part, ast.If | ast.While | ast.IfExp):
        return [part.test]
    if isinstance(part, ast.UnaryOp):
        return [part.operand]
    if isinstance(part, ast.Compare):
        return [part.left, *part.comparators]
    if isinstance(part, ast.Call):
        looks = isinstance(part.func, ast.Name) and part.func.id in _LOOKING
        if looks or is_of_torch(part.func):
            return [*part.args, *(keyword.value for keyword in part.keywords)]
    return []
