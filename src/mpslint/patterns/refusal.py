"""A program that refuses to run without CUDA lets Apple's GPU in as well."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Fix
from mpslint.patterns.availability import mps_available, wants_mps
from mpslint.patterns.selection import torch_name
from mpslint.patterns.text import holds_comment, replace

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def admit_mps(context: Context, test: ast.expr) -> Fix | None:
    """`torch.cuda.is_available()` in `test` also answers for MPS; None where it is asked more
    than once, or by other words.

    Unsafe: whether the code below runs on MPS is for its author to say.
    """
    source = context.source
    torch = torch_name(context, test)
    asked = [
        node
        for node in ast.walk(test)
        if isinstance(node, ast.Call) and context.resolve(node.func) == "torch.cuda.is_available"
    ]
    if torch is None or len(asked) != 1 or not wants_mps(context):
        return None
    call = asked[0]
    if holds_comment(source, *source.span(call)):
        return None
    text = f"{source.segment(call)} or {mps_available(context, torch)}"
    if call is not test and not _is_or(context.index.parents[call]):
        text = f"({text})"
    return Fix("Let MPS in", (replace(source, call, text),), Applicability.UNSAFE)


def _is_or(node: ast.AST) -> bool:
    return isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or)
