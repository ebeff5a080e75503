"""Texts that tell the user which device the work runs on.

`if torch.cuda.is_available(): print("on one GPU") else: print("on the CPU")` chooses nothing. Where
the device is chosen elsewhere, by code that may know MPS, the text is wrong on a Mac.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.purpose import (
    leaves_device_to_others,
    only_gpu_is_cuda,
    speaks_of_mps,
)

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_QUESTIONS = ("torch.cuda.is_available", "torch.cuda.device_count")
_SAYING = frozenset({"print", "log", "debug", "info", "warning", "warn", "write", "echo"})
_CPU = re.compile(r"\bCPUs?\b", re.I)
_NO_CPU = re.compile(r"\b(mps|apple|metal|mac|offload\w*)\b", re.I)
_SETTLED = (
    *("cuda", "no-cuda", "asked-cuda", "mps", "no-mps", "asked-mps", "mps-built", "mps-attribute"),
    *("accelerator", "no-accelerator", "cpu", "not-darwin"),
)


def untrue_on_mps(context: Context) -> Iterator[tuple[ast.If, ast.stmt]]:
    """Tests for CUDA between two announcements, and the statement that announces the CPU.

    Only in files that choose no device between CUDA and the CPU: there the text is true.
    """
    for call in context.calls_of(*_QUESTIONS):
        node = context.index.parents[call]
        if not isinstance(node, ast.If) or node.test is not call:
            continue
        if not node.orelse or not _only_says(node.body) or not _only_says(node.orelse):
            continue
        said = next((item for item in node.orelse if _CPU.search(_text(item))), None)
        if said is None or any(_NO_CPU.search(_text(item)) for item in node.orelse):
            continue
        if _chosen_elsewhere(context) and not context.guards.has(node, *_SETTLED):
            yield node, said


def _chosen_elsewhere(context: Context) -> bool:
    """Whether the file may run on MPS, as it knows MPS, or leaves the device to its project."""
    if only_gpu_is_cuda(context) or context.chains.without_mps:
        return False
    return speaks_of_mps(context) or leaves_device_to_others(context)


def _only_says(block: list[ast.stmt]) -> bool:
    for item in block:
        call = item.value if isinstance(item, ast.Expr) else None
        if not isinstance(call, ast.Call):
            return False
        called = call.func
        name = called.attr if isinstance(called, ast.Attribute) else None
        if isinstance(called, ast.Name):
            name = called.id
        if name not in _SAYING:
            return False
    return True


def _text(statement: ast.stmt) -> str:
    """The strings that a statement holds."""
    return " ".join(
        node.value
        for node in ast.walk(statement)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
