"""A device that a file selects by a number already, where that has run in front of all that goes to
the GPU of the number: `torch.device("cuda", self.gpu)`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.devices.gpu_numbers import number_beside, type_given
from mpslint.semantics.gpus.numbers_given import stores_of
from mpslint.semantics.syntax.index import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.semantics.context import Context
    from mpslint.semantics.gpus.numbers_given import Given

_KEY = "devices that are selected by a number"
_NOT_ON_CUDA = frozenset({"no-cuda", "mps"})
_Selections = dict[tuple[ast.AST, str], list[ast.Assign]]


def device_selected(context: Context, number: Given, moves: Sequence[ast.expr]) -> str | None:
    """What names such a device for all the `moves`; None: none does for certain."""
    if number.owner is None:
        return None
    found = _selections(context).get((number.owner, ast.unparse(number.value)), ())
    for statement in found:
        target = statement.targets[0]
        is_before = (
            _is_kept_first(context, statement, target, moves)
            if isinstance(target, ast.Attribute)
            else _is_bound_first(context, number, statement, target, moves)
        )
        if is_before:
            return ast.unparse(target)
    return None


def _selections(context: Context) -> _Selections:
    """The statements that select a device by a number, by what would have that, and its text: the
    class where an object keeps the device, else the function, or the script."""
    if _KEY not in context.memo:
        selections: _Selections = {}
        for call in context.index.calls.get("device", ()):
            statement = context.index.parents[call]
            number = _number_on_cuda(context, call)
            if number is None or not isinstance(statement, ast.Assign):
                continue
            function = context.index.function(statement)
            owner: ast.AST | None = function or context.tree
            if isinstance(statement.targets[0], ast.Attribute):
                owner = context.index.parents.get(function) if function is not None else None
            if owner is not None and len(statement.targets) == 1:
                key = owner, ast.unparse(number)
                selections.setdefault(key, []).append(statement)
        context.memo[_KEY] = selections
    known = context.memo[_KEY]
    assert isinstance(known, dict)
    return known


def _number_on_cuda(context: Context, call: ast.Call) -> ast.expr | None:
    number, kind = number_beside(context.names, call), type_given(call)
    is_cuda = isinstance(kind, ast.Constant) and kind.value == "cuda"
    return number if is_cuda else None


def _is_kept_first(
    context: Context, statement: ast.Assign, target: ast.Attribute, moves: Sequence[ast.expr]
) -> bool:
    """Whether each object has the device before anything of it goes there: its `__init__` selects
    that on each way, and calls nothing of the object sooner. Nobody gives it another one."""
    init = context.index.function(statement)
    if init is None or init.name != "__init__" or ast.unparse(target.value) != "self":
        return False
    top = _on_each_way(context, statement, init.body)
    stores = stores_of(context, target.attr)
    if top is None or stores.others:
        return False
    for use in stores.by_class.get(context.index.parents[init], ()):
        if not context.index.within(use, top):
            return False
    here = [one for one in moves if context.index.function(one) is init]
    if any(one.lineno <= (top.end_lineno or 0) for one in here):
        return False
    before = init.body[: init.body.index(top)]
    if any(isinstance(part, ast.Return) for one in before for part in ast.walk(one)):
        return False
    return len(here) == len(moves) or not any(
        _hands_on(part) for one in before for part in ast.walk(one)
    )


def _hands_on(node: ast.AST) -> bool:
    """`self.build()`, `build(self)`"""
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    given = [*node.args, *(one.value for one in node.keywords)]
    given += [called.value] if isinstance(called, ast.Attribute) else [called]
    return any(isinstance(one, ast.Name) and one.id == "self" for one in given)


def _on_each_way(
    context: Context, statement: ast.Assign, block: Sequence[ast.stmt]
) -> ast.stmt | None:
    """The statement of a block which selects the device: itself, or the chain that asks for CUDA
    alone and for MPS, and selects another one where these are not; None: it is another `if`."""
    text, one = ast.unparse(statement.targets[0]), statement
    top: ast.AST = one
    while top not in block:
        parent = context.index.parents.get(top)
        if not isinstance(parent, ast.If) or not _binds(parent, text):
            return None
        implied = context.guards.implied
        on_cuda = (
            "no-cuda" in implied(parent.test, False)
            if top in parent.body
            else implied(parent.test, True) & _NOT_ON_CUDA
        )
        if not on_cuda:
            return None
        top = parent
    assert isinstance(top, ast.stmt)
    return top


def _binds(statement: ast.stmt, text: str) -> bool:
    """Whether a statement binds a target on each way."""
    if isinstance(statement, ast.If):
        return all(
            any(_binds(one, text) for one in arm) for arm in (statement.body, statement.orelse)
        )
    return isinstance(statement, ast.Assign) and text in map(ast.unparse, statement.targets)


def _is_bound_first(
    context: Context,
    number: Given,
    statement: ast.Assign,
    target: ast.expr,
    moves: Sequence[ast.expr],
) -> bool:
    """Whether a function, or a script, selects the device in the block in which it has the number,
    in front of what goes there, and binds the name nowhere else."""
    top = _on_each_way(context, statement, number.block)
    if top is None or not isinstance(target, ast.Name):
        return False
    names = context.names
    scope = names.owner(target.id, target)
    if not all(context.index.within(one.node, top) for one in names.bindings(target.id, target)):
        return False
    if number.kept_by is not None and top.lineno <= number.kept_by.lineno:
        return False
    owner = number.owner if isinstance(number.owner, FUNCTIONS) else None
    inside = {one for one in moves if context.index.function(one) is owner}
    if any(names.owner(target.id, one) is not scope for one in moves):
        return False
    at = number.block.index(top)
    behind: set[ast.AST] = set(number.block[at + 1 :])
    for one in inside:
        if not any(around in behind for around in context.index.ancestors(one)):
            return False
    called = {
        around.name
        for one in moves
        if one not in inside
        for around in context.index.ancestors(one)
        if isinstance(around, (*FUNCTIONS, ast.ClassDef))
    }
    # What is called in front of the selection may go to the GPU itself.
    return not called or not any(
        isinstance(part, ast.Name) and part.id in called
        for one in number.block[:at]
        for part in ast.walk(one)
    )
