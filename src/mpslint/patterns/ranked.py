"""`.cuda(rank)`: a process that was given its GPU keeps it on CUDA, and takes the one device
elsewhere."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Edit, Fix
from mpslint.patterns.availability import (
    cuda_available,
    mps_available,
    opening_level,
    wants_mps,
)
from mpslint.patterns.local_names import free_name, torch_name
from mpslint.patterns.text import (
    alone_on_lines,
    holds_comment,
    indent_unit,
    insert,
    quote,
    replace_span,
)
from mpslint.semantics.gpus.ranks import rank_of
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def move_ranked(context: Context, call: ast.Call) -> Fix | None:
    """`.to(device)` for `.cuda(rank)`, with a device that is selected once, where the function
    that is given `rank` begins; None for any other argument."""
    function, rank = context.index.function(call), rank_of(context, call)
    if function is None or rank is None:
        return None
    torch, name = torch_name(context, call), _name(context, call, function, rank)
    if torch is None or name is None:
        return None
    source = context.source
    assert isinstance(call.func, ast.Attribute)
    start, end = context.name_token(call.func)[0], source.span(call)[1]
    selection = _selection(context, function, rank, torch, name)
    if selection is None or holds_comment(source, start, end):
        return None
    rest = [source.segment(keyword) for keyword in call.keywords if keyword.arg != "device"]
    rest += [f"non_blocking={source.segment(argument)}" for argument in call.args[1:]]
    edit = replace_span(source, start, end, f"to({', '.join([name, *rest])})")
    return Fix("Move to this process's device", (selection, edit), opening_level(context))


def _name(context: Context, call: ast.Call, function: FunctionNode, rank: str) -> str | None:
    """A name that is free in the function and shadows nothing there."""
    name = context.settings.device_name
    used = any(
        context.index.within(use, function) for use in context.index.names.get(name, ())
    ) or any(
        bound == name and context.index.within(binding.node, function)
        for bound, binding in context.names.every_binding()
    )
    return free_name(context, call) if used else name


def _selection(
    context: Context, function: FunctionNode, rank: str, torch: str, name: str
) -> Edit | None:
    """The statement that selects, in front of the function's first one and its comments."""
    source, body = context.source, function.body
    has_docstring = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    first = body[1] if has_docstring and len(body) > 1 else body[0]
    if isinstance(first, (*FUNCTIONS, ast.ClassDef)) or not alone_on_lines(source, first):
        return None
    row, newline = first.lineno, source.newline
    indent, unit, mark = source.indentation(row), indent_unit(source), quote(source)
    while source.line(row - 1).lstrip().startswith("#"):
        row -= 1
    lines = [f"if {cuda_available(torch)}:"]
    lines.append(f"{unit}{name} = {torch}.device({mark}cuda{mark}, {rank})")
    if wants_mps(context):
        lines.append(f"elif {mps_available(context, torch)}:")
        lines.append(f"{unit}{name} = {torch}.device({mark}mps{mark})")
    lines += ["else:", f"{unit}{name} = {torch}.device({mark}cpu{mark})"]
    text = "".join(f"{indent}{line}{newline}" for line in lines)
    return insert(source.starts[row - 1], text)
