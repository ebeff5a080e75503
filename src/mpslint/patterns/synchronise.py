"""Statements that wait for whichever device is there."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.facts.priors import matches
from mpslint.patterns.availability import wants_mps
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.own_device import tests_at
from mpslint.patterns.text import indent_unit
from mpslint.semantics.syntax.parameters import required_parameters

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def synchronise_lines(context: Context, at: ast.AST) -> list[str] | None:
    """The lines that wait, without indentation: the file's own helper, else a dispatch block.

    None where torch has no name at `at`.
    """
    helper = _helper(context, at)
    if helper is not None:
        return [f"{helper}()"]
    torch = torch_name(context, at)
    if torch is None:
        return None
    unit = indent_unit(context.source)
    if context.settings.style == "accelerator":
        return [
            f"if {torch}.accelerator.is_available():",
            f"{unit}{torch}.accelerator.synchronize()",
        ]
    tests = tests_at(context, at, torch)
    lines = [f"if {tests.cuda}:", f"{unit}{torch}.cuda.synchronize()"]
    if wants_mps(context):
        lines += [
            f"elif {tests.mps}:",
            f"{unit}{torch}.mps.synchronize()",
        ]
    return lines


def _helper(context: Context, at: ast.AST) -> str | None:
    """A function of this file that waits for CUDA and for MPS and needs no argument."""
    for function in context.index.of(ast.FunctionDef):
        if not matches("waiting-names", function.name) or context.index.within(at, function):
            continue
        bindings = context.names.bindings(function.name, at)
        if len(bindings) != 1 or bindings[0].node is not function:
            continue
        if not required_parameters(function.args) and _waits_for_mps(context, function):
            return function.name
    return None


def _waits_for_mps(context: Context, function: ast.AST) -> bool:
    return any(
        context.index.within(call, function)
        for call in context.calls_of("torch.mps.synchronize", "torch.accelerator.synchronize")
    )
