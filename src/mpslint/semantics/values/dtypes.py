"""Which dtype an expression has, where that is certain: torch tensors, NumPy arrays, dtype names.

Only dtypes that decide something on MPS need be known, so everything doubtful is None: an
array that comes from a file, a sum of two unknown arrays, a name with two kinds of values.
"""

from __future__ import annotations

import ast

from mpslint.basics.words import words
from mpslint.facts.complex_numbers import COMPLEX, made_by_torch, met_by_number, tells_complex
from mpslint.semantics.names.unpacked import bound_part
from mpslint.semantics.syntax.expressions import keyword
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.terms.value_tables import FACTORIES, LIKE_FACTORIES
from mpslint.semantics.values.array_dtypes import (
    KEEPING,
    MAX_DEPTH,
    ArrayDTypes,
    is_number,
)

_TORCH_ALIASES = {
    "double": "float64",
    "float": "float32",
    "half": "float16",
    "cdouble": "complex128",
    "cfloat": "complex64",
    "long": "int64",
    "int": "int32",
    "short": "int16",
}
_TORCH_DTYPES = words(
    """
    float64 float32 float16 bfloat16 complex128 complex64 complex32 int64 int32 int16 int8 uint8
    uint16 uint32 uint64 bool float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz
    float8_e8m0fnu
    """
)
_BUILTIN_FOR_TORCH = {"float": "float64", "complex": "complex128"}
_CASTS = {
    "double": "float64",
    "float": "float32",
    "half": "float16",
    "bfloat16": "bfloat16",
    "cdouble": "complex128",
    "cfloat": "complex64",
    "long": "int64",
    "int": "int32",
    "bool": "bool",
}
_LEGACY = {"DoubleTensor": "float64", "FloatTensor": "float32", "HalfTensor": "float16"}


_ELEMENTWISE = words(
    """
    sin cos tan exp log log1p expm1 sqrt abs square cumsum cumprod flip sort clip concatenate
    stack vstack hstack tile repeat reshape transpose expand_dims squeeze ascontiguousarray copy
    diff append roll
    """
)


class DTypes(ArrayDTypes):
    """Dtypes of one file, by their usual names (`float64`, `complex128`, `float8_e4m3fn`)."""

    def torch_dtype(self, node: ast.expr | None) -> str | None:
        """The dtype that `torch.float64`, `float`, a legacy type or a name bound to one means."""
        if node is None:
            return None
        qualified = self._names.resolve(node)
        if qualified is not None and qualified.startswith("torch."):
            last = qualified[len("torch.") :]
            last = _TORCH_ALIASES.get(last, last)
            return last if last in _TORCH_DTYPES else _LEGACY.get(last)
        return _BUILTIN_FOR_TORCH.get(self._builtin(node) or "")

    def tensor(self, node: ast.expr | None) -> str | None:
        """The dtype of a tensor, None where it is not certain."""
        if node is None or self._depth > MAX_DEPTH:
            return None
        self._depth += 1
        try:
            return self._tensor(node)
        finally:
            self._depth -= 1

    def _tensor(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Name):
            return self._tensor_of_name(node)
        if isinstance(node, ast.Subscript):
            return self.tensor(node.value)
        if isinstance(node, ast.Attribute):
            return self.tensor(node.value) if node.attr in ("T", "data", "mT") else None
        if isinstance(node, ast.UnaryOp):
            return self.tensor(node.operand)
        if isinstance(node, ast.BinOp):
            return self._promoted(node)
        if isinstance(node, ast.Call):
            return self._tensor_call(node)
        return None

    def _tensor_call(self, node: ast.Call) -> str | None:
        qualified = self._names.resolve(node.func)
        if qualified is None:
            return self._tensor_method(node)
        if not qualified.startswith("torch."):
            return None
        last = qualified[len("torch.") :]
        given = keyword(node, "dtype")
        if given is not None:
            return self.torch_dtype(given)
        if last in ("from_numpy", "tensor", "as_tensor", "asarray") and node.args:
            return self.array(node.args[0])
        if last in FACTORIES | LIKE_FACTORIES and not tells_complex(last):
            return None
        if last in _LEGACY:
            return _LEGACY[last]
        known = last in _ELEMENTWISE or tells_complex(last)
        if known and node.args and not isinstance(node.args[0], ast.List):
            return made_by_torch(last, self.tensor(node.args[0]))
        return None

    def _tensor_method(self, node: ast.Call) -> str | None:
        function = node.func
        if not isinstance(function, ast.Attribute):
            return None
        if function.attr in _CASTS:
            return _CASTS[function.attr]
        if function.attr == "to":
            given = self.cast_of_to(node)
            if given is not None:
                return self.torch_dtype(given)
            if keyword(node, "dtype") is not None or any(
                self._values.of(argument).kind is Kind.TENSOR for argument in node.args
            ):
                return None
            known = all(self._names_device(argument) for argument in node.args[:1])
            return self.tensor(function.value) if known else None
        if function.attr in KEEPING or function.attr in _ELEMENTWISE:
            return made_by_torch(function.attr, self.tensor(function.value))
        return None

    def _names_device(self, node: ast.expr) -> bool:
        return self._values.of(node).kind in (Kind.DEVICE, Kind.DEVICE_STRING, Kind.NUMBER)

    def cast_of_to(self, call: ast.Call) -> ast.expr | None:
        """The dtype that a `.to(...)` call asks for, where it is written out."""
        given = keyword(call, "dtype")
        for candidate in (given, *call.args[:2]):
            if candidate is not None and self.torch_dtype(candidate) is not None:
                return candidate
        return None

    def _tensor_of_name(self, node: ast.Name) -> str | None:
        found = set()
        for binding in self._flow.reaching(node):
            found.add(self.tensor(bound_part(binding, node.id)))
        return found.pop() if len(found) == 1 else None

    def _promoted(self, node: ast.BinOp) -> str | None:
        """float64 with Python numbers or its like stays float64, and so does a product of matrices,
        whose factors have one dtype or torch raises; anything else is left open."""
        left, right = self.tensor(node.left), self.tensor(node.right)
        if left == right:
            return left
        if isinstance(node.op, ast.MatMult):
            return left if right is None else right if left is None else None
        known, other = (left, node.right) if left is not None else (right, node.left)
        if self.number(other) == COMPLEX:
            return met_by_number(known)
        if known in ("float64", "float32", "float16") and self._is_python_number(other):
            return known
        return None

    def _is_python_number(self, node: ast.expr) -> bool:
        return is_number(node) or self._values.of(node).kind is Kind.NUMBER
