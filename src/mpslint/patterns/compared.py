"""What compares a device with CUDA by its name, which a fix of a move, or of a default, leaves."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.options import destination

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.devices.devices import Slot


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


def asked_for_by_name(context: Context, slot: Slot) -> str:
    """Why another default of an option would choose nothing: the program asks the machine for CUDA
    and the option for the word, `torch.cuda.is_available() and args.device == "cuda"`; or empty."""
    dest = None
    if slot.kind == "option" and isinstance(slot.node, ast.Call):
        dest = destination(slot.node)
    if dest is None:
        return ""
    for both in context.index.of(ast.BoolOp):
        asks = isinstance(both.op, ast.And) and any(
            isinstance(part, ast.Call) and context.resolve(part.func) == "torch.cuda.is_available"
            for part in both.values
        )
        if asks and any(_names_cuda(part, dest) for part in both.values):
            return f"{context.line(both)} asks for it by the name of CUDA, and for nothing else"
    return ""


def _names_cuda(test: ast.expr, dest: str) -> bool:
    """`args.device == "cuda"`"""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq):
        return False
    sides = (test.left, test.comparators[0])
    named = any(isinstance(one, ast.Attribute) and one.attr == dest for one in sides)
    words = [one.value for one in sides if isinstance(one, ast.Constant)]
    return named and any(isinstance(word, str) and word.startswith("cuda") for word in words)


def _compares_device(test: ast.expr) -> bool:
    return any(
        isinstance(node, ast.Compare)
        and any(isinstance(one, ast.Attribute) and one.attr == "device" for one in ast.walk(node))
        for node in ast.walk(test)
    )
