"""Functions that multiply float8 matrices, which tensors on MPS cannot be before torch 2.15."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.destinations.sure_devices import always_runs

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_FIRST = (2, 15)
_PRODUCTS = ("torch._scaled_mm",)
"""Fact: of float8 alone (`aten/src/ATen/native/cuda/ScaledBlas.cpp`, `_scaled_mm_cuda`), with
kernels for the CPU and CUDA up to torch 2.14."""


def multiplies_float8(context: Context, row: int) -> bool:
    """Whether a line stands in a function that comes to such a product whatever it is given."""
    if context.settings.min_torch >= _FIRST:
        return False
    for call in context.calls_of(*_PRODUCTS):
        function = context.index.function(call)
        if function is None or not always_runs(context, call, function):
            continue
        if isinstance(function, ast.FunctionDef) and _holds(function, row):
            return True
    return False


def _holds(function: ast.FunctionDef, row: int) -> bool:
    return function.lineno <= row <= (function.end_lineno or 0)
