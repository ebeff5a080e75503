"""`Tensor.pin_memory()`: only where CUDA is, or not at all."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Fix
from mpslint.patterns.availability import cuda_available
from mpslint.patterns.selection import torch_name
from mpslint.patterns.text import alone_on_lines, holds_comment, indent_unit, replace_span

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def pinned_level(context: Context, call: ast.Call) -> Applicability | None:
    """What `unpin` can do for the call, without building it."""
    if _rebinds(context, call):
        return Applicability.SAFE
    return Applicability.UNSAFE if _moves_on(context, call) else None


def unpin(context: Context, call: ast.Call) -> Fix | None:
    """`x = x.pin_memory()` below a test for CUDA; `y.pin_memory().to(device)` without it."""
    level = pinned_level(context, call)
    if level is Applicability.SAFE:
        return _only_on_cuda(context, call)
    return _dropped(context, call) if level is not None else None


def _only_on_cuda(context: Context, call: ast.Call) -> Fix | None:
    source, statement, torch = (
        context.source,
        context.index.statement(call),
        torch_name(context, call),
    )
    start, end = source.span(statement)
    body = source.text[start:end]
    if torch is None or "\n" in body or not alone_on_lines(source, statement):
        return None
    indent = source.indentation(statement.lineno) + indent_unit(source)
    text = f"if {cuda_available(torch)}:{source.newline}{indent}{body}"
    edit = replace_span(source, start, end, text)
    return Fix("Pin memory where CUDA is", (edit,), Applicability.SAFE, follows=True)


def _dropped(context: Context, call: ast.Call) -> Fix | None:
    assert isinstance(call.func, ast.Attribute)
    source = context.source
    start, end = source.span(call.func.value)[1], source.span(call)[1]
    if holds_comment(source, start, end) or ")" in source.text[start:end].split(".")[0]:
        return None
    edit = replace_span(source, start, end, "")
    return Fix("Move it as it is", (edit,), Applicability.UNSAFE)


def _rebinds(context: Context, call: ast.Call) -> bool:
    """`x = x.pin_memory()`: without it, `x` is what it was."""
    statement = context.index.parents[call]
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    assert isinstance(call.func, ast.Attribute)
    return ast.unparse(statement.targets[0]) == ast.unparse(call.func.value)


def _moves_on(context: Context, call: ast.Call) -> bool:
    """`.pin_memory().to(...)`: pinned for the sake of the copy alone."""
    parent = context.index.parents[call]
    return isinstance(parent, ast.Attribute) and parent.attr in ("to", "cuda")
