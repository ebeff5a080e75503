"""Moves below a comparison of a tensor's device with CUDA, which a fix of the move leaves."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def compared_with_cuda(context: Context, node: ast.AST) -> str:
    """Why a move at `node` is half a port: `if x.device != torch.device("cuda")` above it asks for
    CUDA as before, and what such code is handed (a sampler's buffers) is of any dtype; or empty."""
    function = context.index.function(node)
    for parent in context.index.ancestors(node):
        if parent is function:
            break
        if isinstance(parent, ast.If) and _compares_device(parent.test):
            if any(
                one.backend == "cuda" and context.index.within(one.node, parent.test)
                for one in context.devices.literals
            ):
                return f"{context.line(parent.test)} would still compare the device with CUDA"
    return ""


def _compares_device(test: ast.expr) -> bool:
    return any(
        isinstance(node, ast.Compare)
        and any(isinstance(one, ast.Attribute) and one.attr == "device" for one in ast.walk(node))
        for node in ast.walk(test)
    )
