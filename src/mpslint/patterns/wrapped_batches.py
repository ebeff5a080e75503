"""Batches that only `DataParallel` moves are moved by their loop, once their model goes anywhere.

The wrapper takes what a model is called with to CUDA's devices, and hands it on as it is on MPS.
Of a batch that is given by its names (`model(**batch)`) each tensor can be moved whatever else is
in it; of any other nobody knows whether it is a tensor.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.model import Edit
from mpslint.patterns.insertion import insert_before
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.text import indent_unit
from mpslint.semantics.processes.parallel_batches import WRAPPING, always_wraps, left_to_wrapper
from mpslint.semantics.syntax.expressions import last_name, names_in

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

BATCHES = "batches that only DataParallel has moved are moved by their loop as well"
_KNOWN = "moved batches of wrapped models"
_WRAPPER = "DataParallel"
_DEVICE = "model_device"
"""Not `device`, which other fixes may write in the same function for the file's own."""


def moved_batches(context: Context, call: ast.Call) -> tuple[Edit, ...]:
    """What moves the batches of this file, where a `.cuda()` moves a model that is wrapped."""
    if WRAPPING.decode() not in context.source.text or not _is_wrapped(context, call):
        return ()
    known = context.memo.get(_KNOWN)
    if known is None:
        known = context.memo[_KNOWN] = tuple(_moved(context))
    assert isinstance(known, tuple)
    return known


def _is_wrapped(context: Context, call: ast.Call) -> bool:
    model = call.func.value if isinstance(call.func, ast.Attribute) else None
    values = [model]
    if isinstance(model, ast.Name):
        values = [one.value for one in context.names.bindings(model.id, model)]
    return any(isinstance(one, ast.Call) and last_name(one.func) == _WRAPPER for one in values)


def _moved(context: Context) -> Iterator[Edit]:
    tree = context.tree
    seen: set[ast.AST] = set()
    for call in left_to_wrapper(tree, always=always_wraps(tree)):
        loop = context.index.enclosing(call, ast.For)
        batch = _given_by_names(call)
        statement = context.index.statement(call)
        torch = torch_name(context, call)
        if loop is None or batch is None or torch is None or statement not in loop.body:
            continue
        is_taken = bool(context.names.bindings(_DEVICE, call)) or batch in ("name", "part")
        if is_taken or batch not in names_in(loop.target) or statement in seen:
            continue
        lines = [
            f"{batch} = {{",
            f"{indent_unit(context.source)}name: part.to({_DEVICE})"
            f" if {torch}.is_tensor(part) else part",
            f"{indent_unit(context.source)}for name, part in {batch}.items()",
            "}",
        ]
        moved = insert_before(context, statement, lines, above_comments=True)
        asked = [f"{_DEVICE} = next({ast.unparse(call.func)}.parameters()).device"]
        placed = insert_before(context, loop, asked, above_comments=True)
        if moved is None or placed is None:
            continue
        if loop not in seen:
            yield placed
        seen.update((loop, statement))
        yield moved


def _given_by_names(call: ast.Call) -> str | None:
    """The batch of `model(**batch)`."""
    if call.args or len(call.keywords) != 1 or call.keywords[0].arg is not None:
        return None
    given = call.keywords[0].value
    return given.id if isinstance(given, ast.Name) else None
