"""`map_location` for checkpoints."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Edit, Fix
from mpslint.patterns.selection import reference, torch_name
from mpslint.patterns.text import holds_comment, insert, quote, replace

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def cpu_map_location(context: Context, call: ast.Call) -> Fix | None:
    """Add `map_location=` behind the last argument."""
    source = context.source
    mark = quote(source)
    torch = torch_name(context, call)
    last = max(
        [*call.args, *(k.value for k in call.keywords)],
        key=lambda n: source.span(n)[1],
        default=None,
    )
    if last is None or torch is None:
        return None
    value = f"{mark}cpu{mark}"
    if not goes_to_state_dict(context, call):
        value = f"None if {torch}.cuda.is_available() else {value}"
    at = _behind(context, call, last)
    return Fix(
        "Load where every machine can", (insert(at, f", map_location={value}"),), Applicability.SAFE
    )


def _behind(context: Context, call: ast.Call, last: ast.expr) -> int:
    """The offset behind the last argument and the parentheses it may stand in."""
    source = context.source
    start, at = source.span(call.func)[1], source.span(last)[1]
    # The argument's own parentheses are closed inside its span; those around it are not.
    opened = source.text[start : source.span(last)[0]].rstrip(" \t\r\n")
    extra = 0
    while opened.endswith("("):
        opened, extra = opened[:-1].rstrip(" \t\r\n"), extra + 1
    if not opened:
        extra -= 1
    while extra > 0:
        at = source.text.index(")", at) + 1
        extra -= 1
    return at


def portable_map_location(context: Context, given: ast.expr) -> Fix | None:
    """Put the selected device in the place of a written-out CUDA one."""
    start, end = context.source.span(given)
    literal = next(
        (x for x in context.devices.literals if context.index.within(x.node, given)), None
    )
    if literal is None or literal.computed_index or literal.index:
        return None
    if holds_comment(context.source, start, end):
        return None
    found = reference(context, given, literal.index)
    if found is None:
        return None
    edits: tuple[Edit, ...] = (*found.edits, replace(context.source, given, found.text))
    return Fix("Load to the selected device", edits, found.level)


def goes_to_state_dict(context: Context, call: ast.Call) -> bool:
    """Whether what is loaded is only copied into modules and optimizers that are there."""
    if _feeds_state_dict(context, call):
        return True
    parent = context.index.parents[call]
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
        return False
    target = parent.targets[0]
    if not isinstance(target, ast.Name):
        return False
    scope = context.names.owner(target.id, target)
    if scope is None or len(scope.bindings[target.id]) != 1:
        return False
    uses = [
        use
        for use in context.index.names[target.id]
        if isinstance(use.ctx, ast.Load) and context.names.owner(use.id, use) is scope
    ]
    return bool(uses) and all(_feeds_state_dict(context, use) for use in uses)


def _feeds_state_dict(context: Context, node: ast.expr) -> bool:
    """`m.load_state_dict(node)`, `m.load_state_dict(node["model"])`."""
    parent = context.index.parents[node]
    while isinstance(parent, ast.Subscript) and parent.value is node:
        node, parent = parent, context.index.parents[parent]
    return (
        isinstance(parent, ast.Call)
        and isinstance(parent.func, ast.Attribute)
        and parent.func.attr == "load_state_dict"
        and node in parent.args
    )
