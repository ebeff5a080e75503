"""Tests of a number under which a process group is started: `if local_rank >= 0:`. Asked again in
the same function, such a test has the same answer, as a switch of the user's has."""

from __future__ import annotations

import ast

from mpslint.semantics.syntax.node_kinds import of_kinds
from mpslint.semantics.worlds.values import UNKNOWN, Atom, Symbol

STARTS = "init_process_group"
_COMPARED = "compared"
_CONTRARY = {ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.NotEq: ast.Eq}


def starts_group(body: list[ast.stmt]) -> bool:
    """Whether an arm starts a process group itself."""
    return any(
        (isinstance(item, ast.Attribute) and item.attr == STARTS)
        or (isinstance(item, ast.Name) and item.id == STARTS)
        for statement in body
        for item in of_kinds(statement, (ast.Attribute, ast.Name))
    )


def starts_by_rank(tree: ast.Module) -> bool:
    """Whether a file starts a process group under the test of a number."""
    return any(
        isinstance(item, ast.If) and isinstance(item.test, ast.Compare) and starts_group(item.body)
        for item in of_kinds(tree, (ast.If,))
    )


def is_of_rank(symbol: Symbol) -> bool:
    """Whether a switch is the answer to such a test."""
    return symbol[0] == _COMPARED


def answered(test: ast.expr, left: Atom) -> tuple[Symbol, bool] | None:
    """What a comparison of `left`, of which nothing is known, with a number asks, and whether it
    asks for the contrary: `rank < 0` is `not rank >= 0`."""
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and left.kind == UNKNOWN):
        return None
    number = _number(test.comparators[0])
    if number is None or left.symbol is None or left.tests:
        return None
    kind = type(test.ops[0])
    asked = left.symbol, _CONTRARY.get(kind, kind), number
    return (_COMPARED, asked), kind in _CONTRARY


def _number(node: ast.expr) -> int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    return None
