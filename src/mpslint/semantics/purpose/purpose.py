"""What a file is for, where that decides whether a finding helps anybody.

In a file whose only GPU is CUDA, a counter that reads 0 on MPS or a cache that stays full there is
no fault yet: the device has to be made portable first, and then the file speaks of MPS. A file
that sets up NCCL is for several NVIDIA GPUs; that it does so is one finding, not one for each
event and stream.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.facts.priors import matches
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.parameters import required_parameters

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_AVAILABLE = (
    "torch.backends.mps.is_available",
    "torch.mps.is_available",
    "torch.backends.mps.is_built",
)


def speaks_of_mps(context: Context) -> bool:
    """Whether the code (not a comment or a text) knows MPS or accelerators in general."""
    known = context.memo.get("speaks-of-mps")
    if known is None:
        index = context.index
        known = context.memo["speaks-of-mps"] = (
            any(index.attributes.get(word) for word in ("mps", "accelerator", "is_mps"))
            or any(literal.backend == "mps" for literal in context.devices.literals)
            or any(node.value == "mps" for node in index.strings)
        )
    return bool(known)


def only_gpu_is_cuda(context: Context) -> bool:
    """Whether the file chooses its device itself, and can only choose CUDA or the CPU."""
    if speaks_of_mps(context):
        return False
    if _served_by_project(context):
        return True
    devices = context.devices
    if any(x.backend == "cuda" and devices.slot(x.node) is not None for x in devices.literals):
        return True
    return any(isinstance(c.func, ast.Attribute) for c in context.index.calls.get("cuda", ()))


def _served_by_project(context: Context) -> bool:
    """Whether the file names no device, and the modules of its project that it imports know CUDA
    and the CPU only."""
    known = context.memo.get("served-by-project")
    if known is None:
        modules = [
            item
            for statement in context.index.of(ast.ImportFrom)
            for item in ["." * statement.level + (statement.module or "")]
        ]
        modules += [a.name for item in context.index.of(ast.Import) for a in item.names]
        elsewhere = context.elsewhere
        known = context.memo["served-by-project"] = (
            elsewhere is not None
            and not context.devices.literals
            and elsewhere.serves_cuda_alone(context.source.path, modules)
        )
    return bool(known)


def about_gpus(context: Context, node: ast.AST) -> bool:
    """Whether a function or class around is about a GPU by its name, and not to choose one: who
    calls that has a GPU."""
    return any(_named_for_gpus(parent) for parent in context.index.ancestors(node))


def given_to_gpus(context: Context, node: ast.AST) -> bool:
    """Whether `node` stands in such a class, or in such a function that is handed something: who
    makes or calls it has chosen it for what it does, where a check is called by everybody."""
    return any(
        _named_for_gpus(parent)
        and (isinstance(parent, ast.ClassDef) or required_parameters(parent.args))  # type: ignore[attr-defined]
        for parent in context.index.ancestors(node)
    )


def _named_for_gpus(node: ast.AST) -> bool:
    return (
        isinstance(node, (*FUNCTIONS, ast.ClassDef))
        and matches("gpu-words", node.name)
        and not matches("choosing-words", node.name)
    )


def asks_for_mps(context: Context) -> bool:
    """Whether the file asks anywhere whether MPS is there."""
    return next(context.calls_of(*_AVAILABLE), None) is not None


def starts_nccl(context: Context) -> bool:
    """Whether the file starts a process group that names NCCL."""
    return next(nccl_starts(context), None) is not None


def nccl_starts(context: Context) -> Iterator[ast.Call]:
    """Where a process group is started that names NCCL."""
    if not any(node.value == "nccl" for node in context.index.strings):
        return
    for call in context.index.calls.get("init_process_group", ()):
        given = (*call.args, *(keyword.value for keyword in call.keywords))
        if any(isinstance(item, ast.Constant) and item.value == "nccl" for item in given):
            yield call


def in_cpu_arm(context: Context, node: ast.AST) -> bool:
    """Whether `node` stands in the arm that a test for CUDA leaves to the CPU, in a file that knows
    no third device."""
    if speaks_of_mps(context):
        return False
    if context.guards.has(node, "no-cuda", "cpu"):
        return True
    child = node
    for parent in context.index.ancestors(node):
        if isinstance(parent, ast.If | ast.IfExp):
            orelse = parent.orelse if isinstance(parent.orelse, list) else [parent.orelse]
            if any(item is child for item in orelse):
                if context.guards.implied(parent.test, True) & {"cuda", "asked-cuda"}:
                    return True
        child = parent
    return False
