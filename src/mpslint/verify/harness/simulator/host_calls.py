"""The quickest way to call an operator on CPU tensors.

``torch.ops`` parses every call against the schema in a generic way; the functions in ``torch``
itself were generated for their one schema and take half as long. They are used where both mean the
same call, which is so for the operators listed here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_functions = torch._C._VariableFunctions

# operator to the generated function that takes the same positional arguments
_DIRECT = {
    "add.Tensor": "add", "sub.Tensor": "sub", "mul.Tensor": "mul", "div.Tensor": "div",
    "mm": "mm", "bmm": "bmm", "addmm": "addmm", "baddbmm": "baddbmm", "relu": "relu",
    "tanh": "tanh", "sigmoid": "sigmoid", "exp": "exp", "log": "log", "neg": "neg", "abs": "abs",
    "sqrt": "sqrt", "rsqrt": "rsqrt", "reciprocal": "reciprocal", "cat": "cat", "clone": "clone",
    "native_layer_norm": "native_layer_norm", "embedding": "embedding", "_softmax": "_softmax",
    "_log_softmax": "_log_softmax", "native_batch_norm": "native_batch_norm",
}  # fmt: skip
# in-place operators, called as methods
_METHODS = {
    "add_.Tensor": "add_", "sub_.Tensor": "sub_", "mul_.Tensor": "mul_", "div_.Tensor": "div_",
    "zero_": "zero_", "sqrt_": "sqrt_", "relu_": "relu_", "lerp_.Scalar": "lerp_",
    "fill_.Scalar": "fill_",
}  # fmt: skip
# operators whose keyword-only arguments the generated functions know too
_WITH_KEYWORDS = {"addcmul_": "addcmul_", "addcdiv_": "addcdiv_"}
_ARITHMETIC = {
    f"{name}{suffix}.Tensor" for name in ("add", "sub", "mul", "div") for suffix in ("", "_")
}


def _table() -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    methods = torch._C.TensorBase
    for source, names in ((_functions, _DIRECT), (methods, _METHODS), (methods, _WITH_KEYWORDS)):
        for operator, function in names.items():
            direct = getattr(source, function, None)
            if direct is not None:
                found[operator] = direct
    found["linear"] = torch._C._nn.linear
    found["gelu"] = torch._C._nn.gelu
    found["linalg_vector_norm"] = torch.linalg.vector_norm
    return found


_table_of_functions = _table()


def _full_name(operator: Any) -> str:
    schema = operator._schema
    name = str(schema.name.partition("::")[2])
    return f"{name}.{schema.overload_name}" if schema.overload_name else name


def host_call(operator: Any) -> Callable[..., Any]:
    """A callable that runs ``operator`` on CPU tensors."""
    direct: Callable[..., Any] = _table_of_functions.get(_full_name(operator), operator._op)
    return direct


def takes_numbers(operator: Any) -> bool:
    """Whether :func:`host_call` accepts a Python number in place of the second tensor."""
    name = _full_name(operator)
    return name in _ARITHMETIC and name in _table_of_functions
