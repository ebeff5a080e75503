"""Extensions that a program compiles while it runs: with a source of CUDA's, only where nvcc is.
And the operators of those that were compiled before."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from mpslint.semantics.worlds.values import CONST, SEQUENCE, Value, cases_of, text_of

EXTENSION_LOADERS = frozenset(
    {"torch.utils.cpp_extension.load", "torch.utils.cpp_extension.load_inline"}
)
# Fact: torch/_ops.py: the libraries of operators that torch and its own packages bring along.
_OF_TORCH = frozenset(
    {"aten", "prim", "prims", "quantized", "_c10d_functional", "c10d", "c10d_functional"}
    | {"higher_order", "inductor", "mkldnn", "rngprims", "sparse", "torchvision", "torchaudio"}
    | {"image", "video_reader", "xnnpack", "prepacked", "mps", "fsdp", "symm_mem"}
)
_FOR_NVCC = frozenset({"cuda_sources", "extra_cuda_cflags"})
_SOURCES = (".cu", ".cuh")


def is_extension_operator(name: str) -> bool:
    """Whether this is `torch.ops.<library>.<operator>` of a library that a project has compiled: it
    has kernels for the CPU and for CUDA, and no fallback leads from MPS to them."""
    parts = name.split(".")
    return len(parts) > 3 and parts[:2] == ["torch", "ops"] and parts[2] not in _OF_TORCH


def is_library(name: str) -> bool:
    """Whether this is `torch.ops.<library>` of such a one."""
    return name.count(".") == 2 and is_extension_operator(f"{name}.*")


def needs_nvcc(call: ast.Call, args: Iterable[Value]) -> bool:
    """Whether such a call compiles for CUDA: by its sources, or by what it gives to nvcc."""
    for keyword in call.keywords:
        given = keyword.value
        if keyword.arg in _FOR_NVCC and not _is_nothing(given):
            return True
        if keyword.arg == "with_cuda" and isinstance(given, ast.Constant) and given.value:
            return True
    if any(
        isinstance(item, ast.Constant)
        and isinstance(item.value, str)
        and item.value.endswith(_SOURCES)
        for item in ast.walk(call)
    ):
        return True
    return any(_lists_source(value) for value in args)


def _is_nothing(node: ast.expr) -> bool:
    if isinstance(node, ast.List | ast.Tuple):
        return not node.elts
    return isinstance(node, ast.Constant) and not node.value


def _lists_source(value: Value) -> bool:
    for _, atom in cases_of(value):
        if atom.kind == SEQUENCE and any(_lists_source(item) for item in atom.v):
            return True
        if atom.kind == CONST and text_of(atom).endswith(_SOURCES):
            return True
    return False
