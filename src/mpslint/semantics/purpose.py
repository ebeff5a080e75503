"""What a file is for, where that decides whether a finding helps anybody.

In a file whose only GPU is CUDA, a counter that reads 0 on MPS or a cache that stays full there is
no fault yet: the device has to be made portable first, and then the file speaks of MPS. A file
that sets up NCCL is for several NVIDIA GPUs; that it does so is one finding, not one for each
event and stream.
"""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.index import Index

_AVAILABLE = (
    "torch.backends.mps.is_available",
    "torch.mps.is_available",
    "torch.backends.mps.is_built",
)
_PUBLIC = ("torch", "torchvision", "torchaudio", "numpy", "scipy", "pandas", "tqdm", "PIL")
_DEVICE_NAMES = ("device", "device_type", "torch_device", "TORCH_DEVICE", "DEVICE", "dev")


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


def leaves_device_to_others(context: Context) -> bool:
    """Whether the file handles no device, and calls modules of its project that may."""
    return not knows_devices(context) and _imports_project(context)


def _imports_project(context: Context) -> bool:
    index = context.index
    for statement in index.of(ast.ImportFrom):
        if statement.level or not _is_public(statement.module or ""):
            return True
    return any(not _is_public(alias.name) for item in index.of(ast.Import) for alias in item.names)


def _is_public(module: str) -> bool:
    """Of Python, PyTorch, or packages that know no device of torch."""
    root = module.split(".")[0]
    return root in sys.stdlib_module_names or root in _PUBLIC


def knows_devices(context: Context) -> bool:
    """Whether the file handles a device that may be any: a name for it, or MPS itself."""
    index = context.index
    if any(index.names.get(word) or index.attributes.get(word) for word in _DEVICE_NAMES):
        return True
    return bool(index.by_type.get(ast.arg) and _device_parameter(index)) or speaks_of_mps(context)


def _device_parameter(index: Index) -> bool:
    return any(
        isinstance(item, ast.arg) and item.arg in _DEVICE_NAMES for item in index.by_type[ast.arg]
    )


def chooses_cuda(context: Context, node: ast.AST) -> bool:
    """Whether the function around `node` selects its own device, and knows CUDA and CPU only."""
    function = context.index.function(node)
    if function is None:
        return False
    chosen = False
    for literal in context.devices.literals:
        if context.index.function(literal.node) is not function:
            continue
        if literal.backend == "mps":
            return False
        slot = context.devices.slot(literal.node)
        chosen = chosen or (slot is not None and slot.kind == "assignment")
    return chosen


def asks_for_mps(context: Context) -> bool:
    """Whether the file asks anywhere whether MPS is there."""
    return next(context.calls_of(*_AVAILABLE), None) is not None


def starts_nccl(context: Context) -> bool:
    """Whether the file starts a process group that names NCCL."""
    if not any(node.value == "nccl" for node in context.index.strings):
        return False
    return any(
        isinstance(item, ast.Constant) and item.value == "nccl"
        for call in context.index.calls.get("init_process_group", ())
        for item in (*call.args, *(keyword.value for keyword in call.keywords))
    )


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
