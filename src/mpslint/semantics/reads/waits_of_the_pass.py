"""What a function waits for that a forward pass runs, besides a check of what it is given.

`if (lens < 1).any(): raise ValueError(...)` in front of `x[mask]`, of `x.masked_select(mask)` or of
`steps = lens.max().item()` costs next to nothing: the pass waits for the size, or for the number,
that the function goes on with, and nobody can do without that.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.purpose.debug_switches import is_debugging
from mpslint.semantics.reads.implicit_reads import implicit_reads
from mpslint.semantics.reads.masks import is_mask
from mpslint.semantics.syntax.giving_up import gives_up
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.values.sized_by_data import ALWAYS, SOMETIMES, is_sized_by_data, operand

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.semantics.context import Context
    from mpslint.semantics.syntax.index import FunctionNode

_READING = ("item", "tolist", "numpy", "cpu")


def waits_besides(context: Context, function: FunctionNode) -> bool:
    """Whether each pass that runs a function has it read a number or a size to go on with, where
    what checks it and raises, and what only looks for errors, does not count."""
    known: dict[FunctionNode, bool]
    known = context.memo.setdefault("waits of a pass", {})  # type: ignore[assignment]
    if function not in known:
        known[function] = any(
            context.loops.every_step(read, function)
            and not _only_checks(context, read, function)
            and not is_debugging(context, read)
            for read in _reads(context, function)
        )
    return known[function]


def _reads(context: Context, function: FunctionNode) -> Iterator[ast.expr]:
    index = context.index

    def stands_here(node: ast.expr) -> bool:
        return index.function(node) is function

    for name in _READING:
        for call in index.calls.get(name, ()):
            if isinstance(call.func, ast.Attribute) and not call.args and stands_here(call):
                if _may_wait(context, call.func.value):
                    yield call
    for name in (*ALWAYS, *SOMETIMES):
        for call in index.calls.get(name, ()):
            if not stands_here(call) or not is_sized_by_data(context.names, context.values, call):
                continue
            tensor = operand(context.names, call)
            if tensor is not None and _may_wait(context, tensor):
                yield call
    for part in index.of(ast.Subscript):
        if stands_here(part) and isinstance(part.ctx, ast.Load) and is_mask(context, part.slice):
            if _may_wait(context, part.value):
                yield part
    for node, tensor in implicit_reads(context, stands_here):
        if context.passes.is_tensor(tensor, function) and _may_wait(context, tensor):
            yield node


def _may_wait(context: Context, tensor: ast.expr) -> bool:
    """Whether something may be a tensor of the module's device: what comes to it mostly is."""
    value = context.values.of(tensor)
    return value.kind in (Kind.TENSOR, Kind.UNKNOWN) and not value.on_cpu


def _only_checks(context: Context, read: ast.expr, function: FunctionNode) -> bool:
    """Whether a read is a part of a test that ends all, or of the message of an error."""
    child: ast.AST = read
    for parent in context.index.ancestors(read):
        if parent is function:
            return False
        if isinstance(parent, ast.Assert | ast.Raise):
            return True
        if isinstance(parent, ast.If) and child is parent.test and gives_up(parent.body):
            return True
        child = parent
    return False
