"""A move of what lies where it belongs already: it goes, and its test for CUDA with it.

`eps = std.data.new(std.size()).normal_()` is on the device of `std`, on every machine. A
`.to(std.device)` in place of the `.cuda()` behind it would do nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Fix
from mpslint.patterns.calls import rebinds
from mpslint.patterns.statements import delete_statement
from mpslint.patterns.text import holds_comment, replace_span
from mpslint.semantics.operands.made_of import made_beside, roots
from mpslint.semantics.operands.partners import partner
from mpslint.semantics.operands.pass_inputs import is_given
from mpslint.semantics.steps.forward_inputs import from_forward
from mpslint.semantics.terms.value_tables import NEW_FACTORIES

if TYPE_CHECKING:
    from mpslint.model import Edit
    from mpslint.semantics.context import Context

_KEY = "moves of what is there already"
MESSAGE = "Leave it where it is made"


def is_there(context: Context, call: ast.Call) -> bool:
    """Whether a move is of something that a tensor made beside it, and that is computed with that
    tensor, or with what it is made of: on CUDA they are in one place."""
    known: dict[ast.Call, bool] = context.memo.setdefault(_KEY, {})  # type: ignore[assignment]
    if call not in known:
        known[call] = _is_there(context, call)
    return known[call]


def _is_there(context: Context, call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute) or call.args or call.keywords:
        return False
    if _goes_on(context, call):
        return True
    made = call.func.value
    if isinstance(made, ast.Name):
        bindings = [one for one in context.flow.reaching(made) if one.kind == "assign"]
        if len(bindings) != 1 or len(context.flow.reaching(made)) != 1:
            return False
        if bindings[0].value is None or context.index.within(call, bindings[0].node):
            return False
        made = bindings[0].value
    tensor = made_beside(context, made)
    if tensor is None:
        return False
    met = partner(context, call)
    if met is None:
        return _is_input(context, made) or is_given(context, tensor, call)
    return met == tensor or met in _origins(context, tensor, call)


def _goes_on(context: Context, call: ast.Call) -> bool:
    """`x.cuda().type_as(y)`: it goes to where `y` is, from wherever it is, and what is float64
    need not come to MPS on the way."""
    method = context.index.parents[call]
    if not isinstance(method, ast.Attribute) or method.attr not in ("type_as", "to"):
        return False
    outer = context.index.parents[method]
    if not isinstance(outer, ast.Call) or outer.func is not method or len(outer.args) != 1:
        return False
    (given,) = outer.args
    if method.attr == "type_as":
        return not outer.keywords
    return isinstance(given, ast.Attribute) and given.attr == "device"


def _is_input(context: Context, made: ast.expr) -> bool:
    """Whether something is made by a method of what a `forward` is given: the input of a module
    that runs on CUDA is there, and who asks it for the new tensor means to have both in one
    place."""
    while isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute):
        if made.func.attr in NEW_FACTORIES:
            return isinstance(made.func.value, ast.Name) and from_forward(context, made.func.value)
        made = made.func.value
    return False


def _origins(context: Context, name: str, at: ast.AST) -> list[str]:
    """The tensors that a name is made of, where it is so in one place only."""
    bindings = context.names.scope_of(at).bindings.get(name, [])
    if len(bindings) != 1 or bindings[0].kind != "assign" or bindings[0].value is None:
        return []
    return roots(context, bindings[0].value)


def drop_gate(context: Context, gate: ast.If | ast.IfExp, moves: Sequence[ast.Call]) -> Edit | None:
    """Removes a test for CUDA below which nothing else is done than to move such things."""
    if not isinstance(gate, ast.If) or gate.orelse or len(gate.body) != len(moves):
        return None
    kept = {context.index.statement(move) for move in moves if is_there(context, move)}
    if kept != set(gate.body) or not all(rebinds(context, move) for move in moves):
        return None
    return delete_statement(context, gate)


def drop_move(context: Context, call: ast.Call) -> Fix | None:
    """The fix for such a move that no test is around; None: it is no such move."""
    if not is_there(context, call) or not isinstance(call.func, ast.Attribute):
        return None
    if rebinds(context, call):
        edit = delete_statement(context, context.index.statement(call))
        return Fix(MESSAGE, (edit,), Applicability.SAFE, follows=True) if edit else None
    source = context.source
    start, end = source.span(call.func.value)[1], source.span(call)[1]
    dropped = source.text[start:end]
    if holds_comment(source, start, end) or "".join(dropped.split()) != f".{call.func.attr}()":
        return None
    edit = replace_span(source, start, end, "")
    return Fix(MESSAGE, (edit,), Applicability.SAFE, follows=True)
