"""`Tensor.pin_memory()`: only where CUDA is, or not at all.

What is pinned for the sake of one copy (`x.pin_memory().to(device, non_blocking=True)`) gets an arm
without both: a copy from memory that is not pinned must not be overtaken.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Fix
from mpslint.patterns.availability import cuda_available, pins_available
from mpslint.patterns.calls import rebinds
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.own_device import pinning_test
from mpslint.patterns.text import alone_on_lines, holds_comment, indent_unit, replace_span
from mpslint.semantics.syntax.expressions import is_path

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def pinned_message(context: Context) -> str:
    on_cuda = pins_available(context, "torch") == cuda_available("torch")
    return f"Pin memory where {'CUDA' if on_cuda else 'an accelerator that has it'} is"


def pinned_level(context: Context, call: ast.Call) -> Applicability | None:
    """What `unpin` can do for the call, without building it."""
    if rebinds(context, call) or _copies(context, call):
        return Applicability.SAFE
    return Applicability.UNSAFE if _moves_on(context, call) else None


def unpin(context: Context, call: ast.Call) -> Fix | None:
    """`x = x.pin_memory()` below a test for CUDA; `y.pin_memory().to(device)` without it."""
    level = pinned_level(context, call)
    if level is Applicability.SAFE:
        return (
            _only_where_pinned(context, call) if rebinds(context, call) else _in_arms(context, call)
        )
    return _dropped(context, call) if level is not None else None


def _only_where_pinned(context: Context, call: ast.Call) -> Fix | None:
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
    test, waits = pinning_test(context, call, torch)
    text = f"if {test}:{source.newline}{indent}{body}"
    edit = replace_span(source, start, end, text)
    return Fix(pinned_message(context), (edit,), Applicability.SAFE, follows=True, waits=waits)


def _in_arms(context: Context, call: ast.Call) -> Fix:
    """The statement below a test for CUDA, and without pins below `else`."""
    source, statement = context.source, context.index.statement(call)
    start, end = source.span(statement)
    body, plain = source.text[start:end], source.text[start:end]
    for copy in sorted(_copies(context, call), key=lambda one: source.span(one)[0], reverse=True):
        at, last = source.span(copy)
        plain = plain[: at - start] + _unpinned(context, copy) + plain[last - start :]
    margin = source.indentation(statement.lineno)
    inner = margin + indent_unit(source)
    torch = torch_name(context, call) or "torch"
    test, waits = pinning_test(context, call, torch)
    rows = [f"if {test}:", inner + body, f"{margin}else:", inner + plain]
    edit = replace_span(source, start, end, source.newline.join(rows))
    return Fix(pinned_message(context), (edit,), Applicability.SAFE, follows=True, waits=waits)


def _unpinned(context: Context, copy: ast.Call) -> str:
    """`x.to(device)` of `x.pin_memory().to(device, non_blocking=True)`."""
    assert isinstance(copy.func, ast.Attribute)
    pinned = copy.func.value
    assert isinstance(pinned, ast.Call)
    assert isinstance(pinned.func, ast.Attribute)
    kept = [
        context.source.segment(argument)
        for argument in (*copy.args, *copy.keywords)
        if not (isinstance(argument, ast.keyword) and argument.arg == "non_blocking")
    ]
    return f"{context.source.segment(pinned.func.value)}.to({', '.join(kept)})"


def _copies(context: Context, call: ast.Call) -> list[ast.Call]:
    """The copies of an assignment that gives what it copies, and nothing else, new names; empty
    where it does more."""
    source, statement = context.source, context.index.statement(call)
    if not isinstance(statement, ast.Assign) or torch_name(context, call) is None:
        return []
    start, end = source.span(statement)
    if "\n" in source.text[start:end] or not alone_on_lines(source, statement):
        return []
    value = statement.value
    copies = value.elts if isinstance(value, ast.Tuple) else [value]
    found = [one for one in copies if isinstance(one, ast.Call) and _is_copy(one)]
    return found if len(found) == len(copies) else []


def _is_copy(call: ast.Call) -> bool:
    """`x.pin_memory().to(...)` of something that has a name."""
    pinned = call.func.value if isinstance(call.func, ast.Attribute) else None
    return (
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "to"
        and isinstance(pinned, ast.Call)
        and isinstance(pinned.func, ast.Attribute)
        and pinned.func.attr == "pin_memory"
        and not pinned.args
        and not pinned.keywords
        and is_path(pinned.func.value)
    )


def _dropped(context: Context, call: ast.Call) -> Fix | None:
    assert isinstance(call.func, ast.Attribute)
    source = context.source
    start, end = source.span(call.func.value)[1], source.span(call)[1]
    if holds_comment(source, start, end) or ")" in source.text[start:end].split(".")[0]:
        return None
    edit = replace_span(source, start, end, "")
    return Fix("Move it as it is", (edit,), Applicability.UNSAFE)


def _moves_on(context: Context, call: ast.Call) -> bool:
    """`.pin_memory().to(...)`: pinned for the sake of the copy alone."""
    parent = context.index.parents[call]
    return isinstance(parent, ast.Attribute) and parent.attr in ("to", "cuda")
