"""Reads without which the next turn of a loop could not begin: what a policy does goes to an
environment, which lives on the host and answers with the state that the policy is given next.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import FUNCTIONS, walk
from mpslint.semantics.terms.value import Kind

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_LOOPS = ast.For | ast.While | ast.AsyncFor


def is_asked_for(context: Context, read: ast.expr) -> bool:
    """Whether a read, or the name that it is given, goes to a `step(...)`, or to a method of an
    object that began what the loop goes through (`state = world.begin()`), and whose answer is what
    the next turn's read hangs on."""
    statement = context.index.statement(read)
    given = set(_targets(statement)) if isinstance(statement, ast.Assign) else set()
    for step in context.index.calls.get("step", ()):
        if isinstance(context.index.parents[step], ast.Expr) and _is_number(read):
            continue  # What asks for a number and answers nothing is a schedule.
        for argument in step.args:
            if context.index.within(read, argument) or _spelled(argument) in given:
                return True
    loop = _loop_around(context, read)
    return loop is not None and _is_answered(context, loop, read)


def _is_number(read: ast.expr) -> bool:
    copied = isinstance(read, ast.Call) and isinstance(read.func, ast.Attribute)
    return not copied or read.func.attr in ("item", "tolist")  # type: ignore[attr-defined]


def _is_answered(context: Context, loop: ast.stmt, read: ast.expr) -> bool:
    bound = [item for item in walk(loop) if isinstance(item, ast.Assign)]
    statement = context.index.statement(read)
    derived = _closure(set(_targets(statement)), bound, forward=True)
    needed = _closure(set(_read_in(read)), bound, forward=False)
    for answer in bound:
        call = answer.value
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        goes_there = any(
            context.index.within(read, argument) or derived & set(_read_in(argument))
            for argument in (*call.args, *(item.value for item in call.keywords))
        )
        if goes_there and needed & set(_targets(answer)):
            if _began(context, call.func.value, loop, needed):
                return True
    return False


def _closure(names: set[str], bound: list[ast.Assign], *, forward: bool) -> set[str]:
    """The names that are made of these in a loop, or those that these are made of."""
    while True:
        more: set[str] = set()
        for item in bound:
            made, of = set(_targets(item)), set(_read_in(item.value))
            if forward and of & names:
                more |= made
            elif not forward and made & names:
                more |= of
        if more <= names:
            return names
        names = names | more


def _began(context: Context, owner: ast.expr, loop: ast.stmt, needed: set[str]) -> bool:
    """Whether the object is no model, and gave what the first turn needs."""
    if context.values.of(owner).kind is Kind.MODULE or context.resolve(owner) is not None:
        return False
    function, spelled = context.index.function(loop), ast.dump(owner)
    return any(
        isinstance(item, ast.Assign)
        and item.lineno < loop.lineno
        and isinstance(item.value, ast.Call)
        and isinstance(item.value.func, ast.Attribute)
        and ast.dump(item.value.func.value) == spelled
        and bool(needed & set(_targets(item)))
        for item in walk(function if function is not None else context.tree)
    )


def _loop_around(context: Context, node: ast.AST) -> ast.stmt | None:
    for parent in context.index.ancestors(node):
        if isinstance(parent, FUNCTIONS):
            return None
        if isinstance(parent, _LOOPS):
            return parent
    return None


def _targets(statement: ast.stmt) -> Iterator[str]:
    for target in statement.targets if isinstance(statement, ast.Assign) else ():
        for item in ast.walk(target):
            spelled = _spelled(item)
            if spelled is not None:
                yield spelled


def _read_in(node: ast.expr) -> Iterator[str]:
    for item in ast.walk(node):
        spelled = _spelled(item)
        if spelled is not None:
            yield spelled


def _spelled(node: ast.AST) -> str | None:
    """`state`, `self.state`"""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return None
