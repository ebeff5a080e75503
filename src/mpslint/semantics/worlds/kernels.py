"""Extensions that a program compiles while it runs: with a source of CUDA's, only where nvcc is."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from mpslint.semantics.worlds.values import CONST, SEQUENCE, Value, cases_of, text_of

EXTENSION_LOADERS = frozenset(
    {"torch.utils.cpp_extension.load", "torch.utils.cpp_extension.load_inline"}
)
_FOR_NVCC = frozenset({"cuda_sources", "extra_cuda_cflags"})
_SOURCES = (".cu", ".cuh")


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
