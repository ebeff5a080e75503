"""Decisions for CUDA that are no device selection themselves, but that others follow.

`use_cuda = torch.cuda.is_available()` in front of `"cuda" if use_cuda else "cpu"`, and
`if torch.cuda.is_available():` around `x = x.cuda()`: what is wrong is seen below, what has to be
asked stands here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.facts_known import CUDA_SETTLED
from mpslint.semantics.gated_moves import Asked, asked_by, rightly_gated
from mpslint.semantics.runtime_calls import about_cuda
from mpslint.semantics.several_gpus import for_several_gpus

if TYPE_CHECKING:
    from mpslint.semantics.chains import Chain
    from mpslint.semantics.context import Context

_GPUS = re.compile(r"(gpu|device)_?ids?\b|n_?gpus?\b|num_gpus", re.I)
_QUESTIONS = ("torch.cuda.is_available", "torch.cuda.device_count")


def deciding_flags(
    context: Context, chains: Iterable[Chain]
) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What the flags in the tests of `chains` are assigned, where that asks for CUDA: (value, the
    test that reads it), each value once."""
    seen: set[ast.expr] = set()
    for chain in chains:
        for node in ast.walk(chain.test):
            if not isinstance(node, ast.Name | ast.Attribute):
                continue
            value = context.guards.behind(node)
            if value is node or value in seen or not _asks_for_cuda_only(context, value):
                continue
            seen.add(value)
            yield value, chain.test


def deciding_tests(context: Context) -> Iterator[ast.expr]:
    """Tests of the machine that let things move to CUDA, and nothing to MPS, in source order."""
    found: dict[ast.If, None] = {}
    for call in context.index.calls.get("cuda", ()):
        if not isinstance(call.func, ast.Attribute) or context.resolve(call.func) is not None:
            continue
        if not isinstance(context.index.statement(call), ast.Expr | ast.Assign):
            continue
        gate = context.chains.gate(call)
        if gate is None or gate in found or not _asks_for_cuda_only(context, gate.test):
            continue
        if asked_by(context, gate) is not Asked.MACHINE or rightly_gated(
            context, call, Asked.MACHINE
        ):
            continue
        if context.guards.has(gate, *CUDA_SETTLED) or about_cuda(context, call):
            continue
        if not for_several_gpus(context, gate):
            found[gate] = None
    for gate in sorted(found, key=lambda item: item.lineno):
        yield gate.test


def _asks_for_cuda_only(context: Context, test: ast.expr) -> bool:
    """Whether a test calls `torch.cuda.is_available` or its like, and nothing of MPS."""
    if _GPUS.search(ast.unparse(test)):
        return False  # Several GPUs by number are no Mac's.
    calls = [node for node in ast.walk(test) if isinstance(node, ast.Call)]
    names = [context.resolve(call.func) or ast.unparse(call.func) for call in calls]
    return any(name in _QUESTIONS for name in names) and not any(
        word in name for name in names for word in ("mps", "accelerator", "xpu", "npu")
    )
