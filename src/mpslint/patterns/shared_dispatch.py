"""One function of the file in place of many copies of the same dispatch."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.patterns.availability import cuda_available, mps_available, wants_mps
from mpslint.patterns.place import behind_imports, comes_before
from mpslint.patterns.text import holds_comment, indent_unit, insert, replace
from mpslint.semantics.elsewhere import required

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.model import Edit
    from mpslint.semantics.context import Context
    from mpslint.semantics.names import Binding

MANY = 3
"""So many copies of four lines are worth a function."""
_NAMES = {
    "synchronize": ("synchronize", "synchronize_device", "wait_for_device"),
    "empty_cache": ("empty_cache", "empty_device_cache", "free_cached_memory"),
}
_ASKING = ("is_available", "is_built", "hasattr")


def shared_dispatch(
    context: Context, call: ast.Call, calls: Sequence[ast.Call]
) -> tuple[Edit, ...] | None:
    """`empty_cache()` for `torch.cuda.empty_cache()`: a function that the file has, or that
    `calls`, all that would be given a dispatch, are worth. None: in place."""
    what = (context.resolve(call.func) or "").rpartition(".")[2]
    if what not in _NAMES or call.args or call.keywords:
        return None
    if not isinstance(context.index.parents[call], ast.Expr):
        return None
    if holds_comment(context.source, *context.source.span(call)):
        return None
    name = _known(context, call, what)
    if name is not None:
        return (replace(context.source, call, f"{name}()"),)
    if len(calls) < MANY or context.settings.style == "accelerator" or not wants_mps(context):
        return None
    place = behind_imports(context)
    name = next((name for name in _NAMES[what] if not _taken(context, name)), None)
    if place is None or name is None:
        return None
    if not all(comes_before(context, place, one) for one in calls):
        return None
    source = context.source
    unit, newline, torch = indent_unit(source), source.newline, place.torch
    lines = [
        f"def {name}():",
        f"{unit}if {cuda_available(torch)}:",
        f"{unit}{unit}{torch}.cuda.{what}()",
        f"{unit}elif {mps_available(context, torch, module=True)}:",
        f"{unit}{unit}{torch}.mps.{what}()",
    ]
    rest = source.text[place.offset :]
    blank = next((n for n, line in enumerate(rest.splitlines()) if line.strip()), 2)
    lead = newline if place.offset == len(source.text) and not source.text.endswith("\n") else ""
    text = lead + newline.join(["", "", *lines]) + newline * (1 + max(2 - blank, 0))
    return insert(place.offset, text), replace(source, call, f"{name}()")


def _known(context: Context, at: ast.Call, what: str) -> str | None:
    """A function of the module that does the same on CUDA and on MPS, and nothing else."""
    for name, bindings in context.names.module.bindings.items():
        if len(bindings) != 1 or context.names.owner(name, at) is not context.names.module:
            continue
        if bindings[0].kind == "def" and context.index.within(at, bindings[0].node):
            continue
        if _does_only(context, bindings[0], what) and _is_bound_before(context, bindings[0], at):
            return name
    return None


def _is_bound_before(context: Context, binding: Binding, at: ast.AST) -> bool:
    statement = context.index.statement(binding.node)
    if context.index.parents[statement] is not context.tree:
        return False
    if context.index.function(at) is not None:
        return True
    return context.source.span(statement)[1] <= context.source.span(at)[0]


def _does_only(context: Context, binding: Binding, what: str) -> bool:
    function = binding.node
    if not isinstance(function, ast.FunctionDef) or required(function.args):
        return False
    calls = [item for item in ast.walk(function) if isinstance(item, ast.Call)]
    names = [context.resolve(item.func) or "" for item in calls]
    done = {name for name in names if name.rpartition(".")[2] not in _ASKING}
    return done == {f"torch.cuda.{what}", f"torch.mps.{what}"}


def _taken(context: Context, name: str) -> bool:
    return any(bound == name for bound, _ in context.names.every_binding()) or bool(
        context.index.names.get(name)
    )
