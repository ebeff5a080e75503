"""Calls that need a backend at run time, and whether the code around them makes sure of it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

CUDA_SETTLED = ("cuda", "no-mps", "asked-cuda", "caught")
"""Facts under which a CUDA call does not run on a Mac, or its failure is dealt with."""
MPS_SETTLED = ("mps", "mps-attribute", "darwin", "caught")
"""The same for MPS calls off a Mac; a test by attribute is the finding of another rule."""
ACCELERATOR_SETTLED = ("accelerator", "cuda", "mps", "xpu", "npu", "no-cpu", "caught")
"""The same for calls that need any accelerator at all."""


def unsettled(
    context: Context, names: Iterable[str], settled: tuple[str, ...]
) -> Iterator[tuple[ast.Call, str]]:
    """Calls of these functions where none of `settled` is known, with the qualified name."""
    for call in context.calls_of(*names):
        if not context.guards.has(call, *settled):
            yield call, context.resolve(call.func) or ""
