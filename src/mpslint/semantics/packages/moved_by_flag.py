"""What functions of other files move to CUDA by a flag of this one: `state = wrapped(state,
self.use_cuda)`, where `self.use_cuda` is false wherever CUDA is not.

A model of the same class that goes to MPS would be given what stays on the CPU there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import FUNCTIONS, walk
from mpslint.semantics.syntax.parameters import explicit_parameters, given_for
from mpslint.semantics.terms.facts_known import NONE, backend_word

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_MOVING = "calls that move by a flag of the file"
_WORDS = (b"cuda",)
_BY_FLAG = "{}: {}() moves what it is given by `{}`, only where CUDA is, and it would stay"


def stays_by_flag(context: Context, move: ast.AST) -> str:
    """Why what is moved at `move` would not meet what its class, or its function, lets another file
    move by a flag for CUDA; empty: nothing is known to be moved so."""
    around = _scope(context, move)
    for call, flag in _moved(context) if around is not None else ():
        if _scope(context, call) is around:
            name = ast.unparse(call.func)
            return _BY_FLAG.format(context.line(call), name, ast.unparse(flag))
    return ""


def _scope(context: Context, node: ast.AST) -> ast.AST | None:
    """What keeps the flag: the class, whose methods share it, or the outermost function."""
    found: ast.AST | None = None
    for parent in context.index.ancestors(node):
        if isinstance(parent, ast.ClassDef):
            return parent
        found = parent if isinstance(parent, FUNCTIONS) else found
    return found


def _moved(context: Context) -> list[tuple[ast.Call, ast.expr]]:
    if _MOVING not in context.memo:
        context.memo[_MOVING] = list(_find(context)) if context.elsewhere is not None else []
    found = context.memo[_MOVING]
    assert isinstance(found, list)
    return found


def _find(context: Context) -> Iterator[tuple[ast.Call, ast.expr]]:
    known: dict[str, tuple[ast.arguments, list[str]] | None] = {}
    for call in context.index.of(ast.Call):
        given = [*call.args, *(one.value for one in call.keywords)]
        if len(given) < 2 or not any(isinstance(one, ast.Name | ast.Attribute) for one in given):
            continue
        name = context.resolve(call.func)
        if name is None:
            continue
        if name not in known:
            known[name] = _mover(context, name)
        mover = known[name]
        flag = _flag_of(context, call, *mover) if mover is not None else None
        if flag is not None:
            yield call, flag


def _mover(context: Context, name: str) -> tuple[ast.arguments, list[str]] | None:
    """The parameters of a function of another file that moves one of them where another is true,
    and the names of those that decide, in order."""
    found = context.definition_elsewhere(name, _WORDS)
    made = found.bindings[0].node if found is not None and len(found.bindings) == 1 else None
    if not isinstance(made, FUNCTIONS):
        return None
    taken = [one.arg for one in explicit_parameters(made.args)]
    deciding = {
        node.test.id
        for node in walk(made)
        if isinstance(node, ast.If | ast.IfExp) and isinstance(node.test, ast.Name)
        if node.test.id in taken and _moves(node, {*taken} - {node.test.id})
    }
    return (made.args, [one for one in taken if one in deciding]) if deciding else None


def _moves(choice: ast.If | ast.IfExp, taken: set[str]) -> bool:
    """Whether one of these is moved to CUDA where the test holds."""
    arm: list[ast.AST] = [choice.body] if isinstance(choice, ast.IfExp) else [*choice.body]
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in taken
        and (node.func.attr == "cuda" or (node.func.attr == "to" and _names_cuda(node)))
        for one in arm
        for node in ast.walk(one)
    )


def _names_cuda(move: ast.Call) -> bool:
    given = (*move.args, *(one.value for one in move.keywords))
    return any(backend_word(one) == "cuda" for one in given)


def _flag_of(
    context: Context, call: ast.Call, parameters: ast.arguments, deciding: list[str]
) -> ast.expr | None:
    """What a call gives as the flag, where that says that CUDA is there."""
    for name in deciding:
        given = given_for(parameters, call, name, skipped=0)
        facts = context.guards.implied(given, True) if given is not None else NONE
        if "cuda" in facts and "impossible" not in facts:
            return given
    return None
