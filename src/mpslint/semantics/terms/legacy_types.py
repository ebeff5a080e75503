"""The tensor types of old torch: `torch.cuda.FloatTensor` and its kind."""

from __future__ import annotations

import ast

_KINDS = ("Float", "Half", "BFloat16", "Double", "Byte", "Char", "Short", "Int", "Long", "Bool")
CUDA_TYPES = tuple(f"{kind}Tensor" for kind in _KINDS)
DTYPE_OF_TYPE = {
    "FloatTensor": "float32",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "DoubleTensor": "float64",
    "ByteTensor": "uint8",
    "CharTensor": "int8",
    "ShortTensor": "int16",
    "IntTensor": "int32",
    "LongTensor": "int64",
    "BoolTensor": "bool",
}
"""Tensor types, without their module, and the dtype each stands for."""


def is_cuda_type_name(node: ast.expr) -> bool:
    """Whether `node` is the string `"torch.cuda.FloatTensor"` or another of its kind."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return False
    holder, _, last = node.value.rpartition(".")
    return holder == "torch.cuda" and last in CUDA_TYPES
