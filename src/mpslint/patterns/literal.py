"""Replace a written-out CUDA device by a selection."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Edit, Fix
from mpslint.patterns.selection import chain, reference, torch_name, wrapped_chain
from mpslint.patterns.text import holds_comment, needs_parentheses, replace

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.devices import Literal, Slot

_IN_PLACE = ("assignment", "return")
_DEFAULTS = ("parameter", "option", "field", "item")
_STRING_METHODS = (
    "startswith",
    "split",
    "lower",
    "replace",
    "endswith",
    "format",
    "strip",
    "upper",
)


def replace_literal(context: Context, literal: Literal, slot: Slot) -> Fix | None:
    """The fix for a CUDA literal in a device slot; None where a human must choose."""
    if slot.kind in _IN_PLACE or _assigned(context, literal, slot):
        edits = select_in_place(context, literal.node)
        message = "Select the device"
    else:
        if several_gpus(context) or (literal.computed_index and slot.kind != "device"):
            return None
        edits = (
            name_default(context, literal, slot)
            if slot.kind in _DEFAULTS
            else name_device(context, literal, slot)
        )
        message = "Use the selected device"
    return Fix(message, edits, Applicability.SAFE) if edits else None


def several_gpus(context: Context) -> bool:
    """Whether the file names more than one CUDA device, so that one name cannot stand for all."""
    indices = {
        literal.index or 0
        for literal in context.devices.literals
        if literal.backend == "cuda" and context.devices.slot(literal.node) is not None
    }
    return len(indices) > 1


def name_default(context: Context, literal: Literal, slot: Slot) -> tuple[Edit, ...] | None:
    """A default value becomes the selected device: a string again where a string is expected."""
    found = reference(context, literal.node)
    if found is None:
        return None
    keeps_string = not found.is_string and (
        slot.kind in ("option", "item") or _wants_string(context, slot)
    )
    text = f"str({found.text})" if keeps_string else found.text
    return (*found.edits, replace(context.source, literal.node, text))


def _wants_string(context: Context, slot: Slot) -> bool:
    """Whether the code treats what it is given as a string: annotated, compared, taken apart."""
    if slot.kind == "field":
        statement = slot.node
        annotation = statement.annotation if isinstance(statement, ast.AnnAssign) else None
        return annotation is not None and "str" in context.source.segment(annotation)
    parameter = slot.node
    if not isinstance(parameter, ast.arg):
        return True
    if parameter.annotation is not None:
        return "device" not in context.source.segment(parameter.annotation).lower()
    for use in context.index.names.get(parameter.arg, ()):
        scope = context.names.owner(parameter.arg, use)
        if scope is None or not context.index.within(parameter, scope.node):
            continue
        parent = context.index.parents[use]
        if isinstance(parent, ast.Compare | ast.BinOp | ast.FormattedValue | ast.Subscript):
            return True
        if isinstance(parent, ast.Attribute) and parent.attr in _STRING_METHODS:
            return True
    return False


def _assigned(context: Context, literal: Literal, slot: Slot) -> bool:
    """`device = torch.device("cuda")`: the call stands where a variable gets its value."""
    if slot.kind != "device" or not isinstance(slot.node, ast.Call):
        return False
    if context.resolve(slot.node.func) != "torch.device" or len(slot.node.args) != 1:
        return False
    outer = context.devices.slot(slot.node)
    parent = context.index.parents[slot.node]
    if isinstance(parent, ast.Assign | ast.AnnAssign):
        return True
    return outer is not None and outer.kind in (*_IN_PLACE, *_DEFAULTS)


def select_in_place(context: Context, node: ast.expr) -> tuple[Edit, ...] | None:
    """The literal becomes a conditional expression, itself as the CUDA arm."""
    source = context.source
    torch = torch_name(context, node)
    start, end = source.span(node)
    if torch is None or holds_comment(source, start, end) or "\n" in source.text[start:end]:
        return None
    text = source.segment(node)
    mark = '"' if '"' in text else "'"
    selected = chain(context, torch, mark, cuda=text)
    row, column = source.position(start)
    tail = len(source.line(row)) - (column - 1) - len(text)
    parent = context.index.parents[node]
    laid_out = wrapped_chain(context, selected, source.indentation(row), column - 1 + tail)
    if not laid_out.startswith("(") and needs_parentheses(node, parent):
        laid_out = f"({laid_out})"
    elif laid_out.startswith("(") and _only_argument(parent, node):
        laid_out = laid_out[1:-1]
    return (replace(source, node, laid_out),)


def _only_argument(parent: ast.AST, node: ast.expr) -> bool:
    return isinstance(parent, ast.Call) and parent.args == [node] and not parent.keywords


def name_device(context: Context, literal: Literal, slot: Slot) -> tuple[Edit, ...] | None:
    """The literal, or the `torch.device(...)` around it, becomes the name of the device."""
    found = reference(context, literal.node)
    if found is None:
        return None
    node: ast.expr = literal.node
    call = slot.node
    if (
        slot.kind == "device"
        and isinstance(call, ast.Call)
        and context.resolve(call.func) == "torch.device"
    ):
        if len(call.args) + len(call.keywords) != 1:
            return None
        node = call
    start, end = context.source.span(node)
    if holds_comment(context.source, start, end):
        return None
    return (*found.edits, replace(context.source, node, found.text))
