"""What the arm for MPS says where the arms beside it tell which device was chosen."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import last_name

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_SAYING = ("print", "info", "warning", "debug")
# Fact: what people call CUDA's devices, and what they call those of MPS.
_NAMES = (("cuda:0", "mps"), ("CUDA", "MPS"), ("Cuda", "MPS"), ("cuda", "mps"))


def told_on_mps(context: Context, choice: ast.If) -> list[str]:
    """The statements by which the arm for CUDA tells what was chosen, with MPS for CUDA: where the
    last arm tells as well, one that is silent would be taken for neither."""
    if not any(_says(item) for item in choice.orelse):
        return []
    told = [item for item in choice.body if _says(item)]
    texts = [_of_mps(context.source.segment(item)) for item in told if _is_constant(item)]
    return texts if len(texts) == len(told) and not any("\n" in text for text in texts) else []


def _says(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    function = statement.value.func
    name = last_name(function)
    return name in _SAYING


def _is_constant(statement: ast.stmt) -> bool:
    """Whether it says the same each time: what it asks of CUDA has no answer on MPS."""
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
    return len(calls) == 1


def _of_mps(text: str) -> str:
    for cuda, mps in _NAMES:
        text = text.replace(cuda, mps)
    return text
