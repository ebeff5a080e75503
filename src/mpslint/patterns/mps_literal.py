"""Replace a written-out MPS device by one that is there."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Fix
from mpslint.patterns.literal import name_default, name_device
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.references import Reference
from mpslint.patterns.selection import reference
from mpslint.patterns.text import needs_parentheses, replace

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.devices.devices import Literal, Slot

_MESSAGE = "Ask for MPS first"


def ask_for_mps(context: Context, literal: Literal, slot: Slot) -> Fix | None:
    """A test for MPS where the device gets its name; that name, or a selection, elsewhere."""
    named = None if _kept(context, slot) else _named(context, literal, slot)
    return named if named is not None else _in_place(context, literal.node)


def _kept(context: Context, slot: Slot) -> bool:
    """Whether the device gets its name here: `device = torch.device("mps")`."""
    if slot.kind == "device":
        return isinstance(context.index.parents[slot.node], ast.Assign | ast.AnnAssign | ast.Return)
    return slot.kind in ("assignment", "return", "field")


def _named(context: Context, literal: Literal, slot: Slot) -> Fix | None:
    at_hand, bound = context.devices.at_hand(literal.node), _bound(context, literal.node)
    if bound is not None:
        found: Reference | None = bound
    elif at_hand is not None and not at_hand.indexed:
        found = Reference(at_hand.text, at_hand.is_string, ())
    else:
        found = reference(context, literal.node)
    if found is None:
        return None
    write = name_default if slot.kind == "item" else name_device
    edits = write(context, literal, slot, found)
    if edits is None:
        return None
    return Fix(_MESSAGE, (*found.edits, *edits), Applicability.UNSAFE)


def _bound(context: Context, node: ast.expr) -> Reference | None:
    """The name at the module's top that is given MPS, and becomes a selection itself."""
    for literal in context.devices.literals:
        holder = context.index.parents[literal.node]
        as_string = isinstance(holder, ast.Assign)
        statement = holder
        if isinstance(holder, ast.Call) and context.resolve(holder.func) == "torch.device":
            statement = context.index.parents[holder]
        if literal.backend != "mps" or not isinstance(statement, ast.Assign):
            continue
        target = statement.targets[0]
        if context.index.parents[statement] is not context.tree or not isinstance(target, ast.Name):
            continue
        earlier = context.source.span(statement)[1] <= context.source.span(node)[0]
        bindings = context.names.bindings(target.id, node)
        if earlier and len(bindings) == 1 and bindings[0].node is statement:
            return Reference(target.id, as_string, ())
    return None


def _in_place(context: Context, node: ast.expr) -> Fix | None:
    torch = torch_name(context, node)
    if torch is None:
        return None
    text = context.source.segment(node)
    mark = text[-1]
    selected = f"{text} if {torch}.backends.mps.is_available() else {mark}cpu{mark}"
    if needs_parentheses(node, context.index.parents[node]):
        selected = f"({selected})"
    return Fix(_MESSAGE, (replace(context.source, node, selected),), Applicability.UNSAFE)
