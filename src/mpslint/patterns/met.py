"""A device that a function selects for what meets an operand is the operand's.

`device = torch.device("cuda" if torch.cuda.is_available() else "cpu")` in a loss that is given
labels, and then `torch.eye(n, device=device) * labels`: whoever calls has put the labels somewhere,
on a Mac's CPU perhaps, and there the rest belongs. To select by the machine would part them.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Fix
from mpslint.patterns.late_default import may_be_anything, resolved_inside
from mpslint.patterns.met_by_global import PLACING
from mpslint.patterns.operand import in_own_parentheses
from mpslint.patterns.text import holds_comment, replace_span
from mpslint.semantics.operands.partners import partner, partner_at
from mpslint.semantics.syntax.index import FUNCTIONS

if TYPE_CHECKING:
    from mpslint.model import Edit
    from mpslint.semantics.context import Context

_KEY = "operands that what is made on a device meets"


def device_of_met(context: Context, node: ast.expr | ast.If) -> Fix | None:
    """The fix for a choice, or a literal, that names the device of what is made in a function, and
    meets a tensor there; None: it is wanted for something else as well, or it is not sure."""
    known: dict[ast.AST, Fix | None] = context.memo.setdefault(_KEY, {})  # type: ignore[assignment]
    if node not in known:
        known[node] = _device_of_met(context, node)
    return known[node]


def _device_of_met(context: Context, node: ast.expr | ast.If) -> Fix | None:
    if context.index.function(node) is None:
        return None
    if isinstance(node, ast.If):
        return _chosen_by_statement(context, node)
    whole, parent = node, context.index.parents[node]
    if isinstance(parent, ast.Call) and parent.args == [node] and not parent.keywords:
        if context.resolve(parent.func) == "torch.device":
            whole, parent = parent, context.index.parents[parent]
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        name = _of_uses(context, parent.targets[0], parent)
    else:
        name = _of_place(context, whole, context.index.statement(node))
    if name is None:
        return None
    start, end = context.source.span(whole)
    if context.source.text[:start].rstrip(" \t\r\n").endswith("("):
        start, end = in_own_parentheses(context, whole) or (start, end)
    return _fix(context, start, end, f"{name}.device", name)


def default_of_met(context: Context, default: ast.expr, parameter: ast.AST) -> Fix | None:
    """The fix for the default of a parameter that only places what meets another parameter:
    `device=None`, which becomes the device of that; None: it is not sure."""
    function = context.index.parents.get(context.index.parents[parameter])
    if not isinstance(parameter, ast.arg) or not isinstance(function, FUNCTIONS):
        return None
    scope, first = context.names.own_scope(function), function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        first = function.body[1] if len(function.body) > 1 else first
    if len(scope.bindings[parameter.arg]) != 1:
        return None
    uses = [
        use
        for use in context.index.names.get(parameter.arg, ())
        if context.names.owner(parameter.arg, use) is scope
    ]
    met = [_of_place(context, use, first) for use in uses]
    name = met[0] if met else None
    if name is None or None in met or not may_be_anything(context, parameter):
        return None
    edits = resolved_inside(context, default, parameter, f"{name}.device")
    if edits is None:
        return None
    return Fix(f"Use the device of {name}", edits, Applicability.SAFE, follows=True)


def _chosen_by_statement(context: Context, choice: ast.If) -> Fix | None:
    """`if torch.cuda.is_available(): device = ...`, `else: device = ...`, and nothing else."""
    arms = [*choice.body, *choice.orelse]
    if len(choice.body) != 1 or len(choice.orelse) != 1:
        return None
    targets = [
        arm.targets[0] for arm in arms if isinstance(arm, ast.Assign) and len(arm.targets) == 1
    ]
    if len(targets) != 2 or ast.dump(targets[0]) != ast.dump(targets[1]):
        return None
    name = _of_uses(context, targets[0], choice, *arms)
    if name is None:
        return None
    start, end = context.source.span(choice)
    if context.source.text[start] != "i":
        return None  # `elif`
    return _fix(context, start, end, f"{context.source.segment(targets[0])} = {name}.device", name)


def _fix(context: Context, start: int, end: int, text: str, name: str) -> Fix | None:
    if holds_comment(context.source, start, end):
        return None
    edits: tuple[Edit, ...] = (replace_span(context.source, start, end, text),)
    return Fix(f"Use the device of {name}", edits, Applicability.SAFE, follows=True)


def _of_uses(
    context: Context, target: ast.expr, statement: ast.stmt, *arms: ast.stmt
) -> str | None:
    """The tensor that all meet for which a local name of a device is used, bound by then."""
    if not isinstance(target, ast.Name):
        return None
    scope = context.names.scope_of(target)
    if context.names.owner(target.id, target) is not scope:
        return None  # of the module
    if {one.node for one in scope.bindings[target.id]} != set(arms or (statement,)):
        return None
    found: list[str] = []
    for use in context.index.names.get(target.id, ()):
        if not isinstance(use.ctx, ast.Load) or context.names.owner(target.id, use) is not scope:
            continue
        name = _of_place(context, use, statement)
        if name is None:
            return None
        found.append(name)
    return found[0] if found else None


def _of_place(context: Context, device: ast.expr, at: ast.stmt) -> str | None:
    """The tensor that what is put on a device at one place meets."""
    slot = context.devices.slot(device)
    if slot is None or slot.kind not in PLACING or not isinstance(slot.node, ast.Call):
        return None
    if context.index.within(device, at):
        return partner(context, slot.node)
    return partner_at(context, slot.node, at)
