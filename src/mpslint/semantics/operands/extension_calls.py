"""Calls of operators that a package brings along, with kernels for the CPU and for CUDA alone.

What such a package does with a tensor of MPS is not torch's: no fallback to the CPU catches it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.facts.priors import extension_operators
from mpslint.semantics.operands.op_calls import OFF_MPS, may_run_on_mps
from mpslint.semantics.syntax.expressions import keyword

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_BY_ARGUMENT = "torch_scatter.scatter"
_OWN_REDUCTIONS = frozenset({"max", "min", "mul"})
# Fact: torch_scatter/scatter.py: sums and means are made of torch's own scatter_add_.


def extension_words() -> frozenset[str]:
    """The last names of all of them."""
    return frozenset(name.rpartition(".")[2] for name in (*extension_operators(), _BY_ARGUMENT))


def extension_calls(context: Context) -> Iterator[tuple[ast.Call, str]]:
    """Those that models make, of what is not known to be on the CPU, with the qualified name."""
    if extension_words().isdisjoint(context.index.calls) and not context.aliases:
        return
    for call in context.calls_of(*extension_operators(), _BY_ARGUMENT):
        name = context.resolve(call.func) or ""
        if name == _BY_ARGUMENT and not _has_own_reduction(call):
            continue
        if not may_run_on_mps(context, call, name) or not _is_of_a_model(context, call):
            continue
        if context.guards.has(call, *OFF_MPS):
            continue
        if context.worlds.on_mps(call) and not context.worlds.is_caught(call):
            yield call, name


def _has_own_reduction(call: ast.Call) -> bool:
    given = keyword(call, "reduce")
    return isinstance(given, ast.Constant) and given.value in _OWN_REDUCTIONS


def _is_of_a_model(context: Context, call: ast.Call) -> bool:
    """Whether a module makes the call, or a function beside modules: what makes the data of a
    set, or transforms it, has it on the CPU."""
    outermost: ast.AST | None = None
    for item in context.index.ancestors(call):
        if isinstance(item, ast.ClassDef):
            return context.values.is_module_class(item)
        if isinstance(item, ast.FunctionDef):
            outermost = item
    if outermost is None:
        return False
    return any(context.values.is_module_class(cls) for cls in context.index.of(ast.ClassDef))
