"""Which dtype an expression has, where that is certain: torch tensors, NumPy arrays, dtype names.

Only dtypes that decide something on MPS need be known, so everything doubtful is None: an
array that comes from a file, a sum of two unknown arrays, a name with two kinds of values.
"""

from __future__ import annotations

import ast

from mpslint.semantics.array_sources import ArraySources
from mpslint.semantics.flow import Flow
from mpslint.semantics.names import Names
from mpslint.semantics.value import Kind
from mpslint.semantics.value_tables import FACTORIES, LIKE_FACTORIES
from mpslint.semantics.values import Values


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MAX_DEPTH = 12
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
_TORCH_DTYPES = _words(
    """
    float64 float32 float16 bfloat16 complex128 complex64 complex32 int64 int32 int16 int8 uint8
    uint16 uint32 uint64 bool float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz
    float8_e8m0fnu
    """
)
_NUMPY_ALIASES = {
    "double": "float64",
    "float": "float64",
    "float_": "float64",
    "f8": "float64",
    "d": "float64",
    "single": "float32",
    "f4": "float32",
    "f": "float32",
    "complex": "complex128",
    "complex_": "complex128",
    "cdouble": "complex128",
    "int": "int64",
    "int_": "int64",
    "bool": "bool",
    "bool_": "bool",
}
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
_ARRAY_MAKERS = _words(
    """
    linspace logspace geomspace zeros ones empty eye identity hanning hamming blackman kaiser
    bartlett
    """
)
_DTYPE_POSITION = {"zeros": 1, "ones": 1, "empty": 1, "eye": 3, "identity": 1}
_RANDOM_SIZE_POSITION = {
    # Without a size these draw a Python float, which torch takes for float32.
    "rand": 0,
    "randn": 0,
    "random": 0,
    "random_sample": 0,
    "standard_normal": 0,
    "uniform": 2,
    "normal": 2,
    "laplace": 2,
    "lognormal": 2,
    "gumbel": 2,
    "logistic": 2,
    "beta": 2,
    "exponential": 1,
}
_ELEMENTWISE = _words(
    """
    sin cos tan exp log log1p expm1 sqrt abs square cumsum cumprod flip sort clip concatenate
    stack vstack hstack tile repeat reshape transpose expand_dims squeeze ascontiguousarray copy
    diff append roll
    """
)
_JOINING = frozenset({"concatenate", "stack", "vstack", "hstack"})
_KEEPING = _words(
    """
    reshape copy transpose flatten ravel squeeze repeat clip cumsum cumprod view unsqueeze
    permute contiguous t clone detach requires_grad_ expand cuda cpu pin_memory flip
    share_memory_ view_as
    expand_as index_select narrow
    """
)


class DTypes:
    """Dtypes of one file, by their usual names (`float64`, `complex128`, `float8_e4m3fn`)."""

    def __init__(self, names: Names, flow: Flow, values: Values, sources: ArraySources) -> None:
        self._names = names
        self._sources = sources
        self._flow = flow
        self._values = values
        self._depth = 0

    # dtype names

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

    def numpy_dtype(self, node: ast.expr | None) -> str | None:
        """The dtype that `np.float64`, `"f8"` or `float` means to NumPy."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return _NUMPY_ALIASES.get(node.value, node.value)
        qualified = self._names.resolve(node) if node is not None else None
        if qualified is not None and qualified.startswith("numpy."):
            last = qualified[len("numpy.") :]
            return _NUMPY_ALIASES.get(last, last)
        return _NUMPY_ALIASES.get(self._builtin(node) or "")

    def _builtin(self, node: ast.expr | None) -> str | None:
        """`float`, `int` and their like where no name of the file hides them."""
        if not isinstance(node, ast.Name) or self._names.owner(node.id, node) is not None:
            return None
        return node.id if node.id in ("float", "complex", "int", "bool") else None

    # arrays

    def array(self, node: ast.expr | None) -> str | None:
        """The dtype of a NumPy array, None where it is not certain (or no array)."""
        if node is None or self._depth > _MAX_DEPTH:
            return None
        self._depth += 1
        try:
            return self._array(node)
        finally:
            self._depth -= 1

    def _array(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Name):
            return self._of_name(node, arrays=True)
        if isinstance(node, ast.Attribute):
            if node.attr == "T":
                return self.array(node.value)
            found = {self.array(item) for item in self._sources.attribute(node)}
            return found.pop() if len(found) == 1 else None
        if isinstance(node, ast.Subscript):
            # One element of a list of floats, or a scalar, is no array; slices keep the dtype.
            return self.array(node.value) if _keeps_array(node.slice) else None
        if isinstance(node, ast.UnaryOp):
            return self.array(node.operand)
        if isinstance(node, ast.BinOp):
            return self._promoted(node, arrays=True)
        if isinstance(node, ast.Call):
            return self._array_call(node)
        return None

    def _array_call(self, node: ast.Call) -> str | None:
        given = _keyword(node, "dtype")
        function = node.func
        qualified = self._names.resolve(function) or ""
        if isinstance(function, ast.Attribute) and not qualified.startswith("numpy."):
            if function.attr == "astype" and (node.args or given):
                return self.numpy_dtype(node.args[0] if node.args else given)
            if function.attr in _RANDOM_SIZE_POSITION and self._generator(function.value):
                return self._drawn(node, function.attr)
            return self.array(function.value) if function.attr in _KEEPING else None
        if not qualified.startswith("numpy."):
            return None
        last = qualified.rsplit(".", 1)[-1]
        if given is not None:
            return self.numpy_dtype(given)
        if qualified == f"numpy.random.{last}" and last in _RANDOM_SIZE_POSITION:
            return self._drawn(node, last)
        if last in _ARRAY_MAKERS:
            place = _DTYPE_POSITION.get(last)
            if place is not None and len(node.args) > place:
                return self.numpy_dtype(node.args[place])
            return "float64" if node.args else None
        if last == "arange" and any(_is_float(argument) for argument in node.args):
            return "float64"
        if last == "full" and len(node.args) > 1 and _is_float(node.args[1]):
            return "float64"
        if last in ("array", "asarray", "ascontiguousarray") and node.args:
            return self._from_literal(node.args[0])
        if last not in _ELEMENTWISE or not node.args:
            return None
        return self._joined(node.args[0]) if last in _JOINING else self.array(node.args[0])

    def _joined(self, parts: ast.expr) -> str | None:
        """The dtype of `np.stack([...])`: the one that all parts have."""
        if isinstance(parts, ast.ListComp):
            return self.array(parts.elt)
        if not isinstance(parts, ast.List | ast.Tuple):
            return self.array(parts)
        found = {self.array(part) for part in parts.elts}
        return found.pop() if len(found) == 1 else None

    def _generator(self, node: ast.expr) -> bool:
        """Whether `node` is a NumPy random generator."""
        if isinstance(node, ast.Name):
            found = self._flow.reaching(node)
            if len(found) != 1 or found[0].kind != "assign" or found[0].value is None:
                return False
            node = found[0].value
        return isinstance(node, ast.Call) and self._names.resolve(node.func) in (
            "numpy.random.default_rng",
            "numpy.random.RandomState",
            "numpy.random.Generator",
        )

    def _drawn(self, node: ast.Call, name: str) -> str | None:
        sized = _keyword(node, "size") is not None or len(node.args) > _RANDOM_SIZE_POSITION[name]
        given = _keyword(node, "dtype")
        if given is not None:
            return self.numpy_dtype(given)
        return "float64" if sized else None

    def _from_literal(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.List | ast.Tuple):
            numbers = list(_flat(node))
            if not numbers or not all(_is_number(item) for item in numbers):
                return None
            return "float64" if any(_is_float(item) for item in numbers) else "int64"
        return self.array(node)

    # tensors

    def tensor(self, node: ast.expr | None) -> str | None:
        """The dtype of a tensor, None where it is not certain."""
        if node is None or self._depth > _MAX_DEPTH:
            return None
        self._depth += 1
        try:
            return self._tensor(node)
        finally:
            self._depth -= 1

    def _tensor(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Name):
            return self._of_name(node, arrays=False)
        if isinstance(node, ast.Subscript):
            return self.tensor(node.value)
        if isinstance(node, ast.Attribute):
            return self.tensor(node.value) if node.attr in ("T", "data", "mT") else None
        if isinstance(node, ast.UnaryOp):
            return self.tensor(node.operand)
        if isinstance(node, ast.BinOp):
            return self._promoted(node, arrays=False)
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
        given = _keyword(node, "dtype")
        if given is not None:
            return self.torch_dtype(given)
        if last in ("from_numpy", "tensor", "as_tensor", "asarray") and node.args:
            return self.array(node.args[0])
        if last in FACTORIES | LIKE_FACTORIES:
            return None
        if last in _LEGACY:
            return _LEGACY[last]
        if last in _ELEMENTWISE and node.args and not isinstance(node.args[0], ast.List):
            return self.tensor(node.args[0])
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
            if _keyword(node, "dtype") is not None or any(
                self._values.of(argument).kind is Kind.TENSOR for argument in node.args
            ):
                return None
            known = all(self._names_device(argument) for argument in node.args[:1])
            return self.tensor(function.value) if known else None
        if function.attr in _KEEPING or function.attr in _ELEMENTWISE:
            return self.tensor(function.value)
        return None

    def _names_device(self, node: ast.expr) -> bool:
        return self._values.of(node).kind in (Kind.DEVICE, Kind.DEVICE_STRING, Kind.NUMBER)

    def cast_of_to(self, call: ast.Call) -> ast.expr | None:
        """The dtype that a `.to(...)` call asks for, where it is written out."""
        given = _keyword(call, "dtype")
        for candidate in (given, *call.args[:2]):
            if candidate is not None and self.torch_dtype(candidate) is not None:
                return candidate
        return None

    # both

    def _of_name(self, node: ast.Name, *, arrays: bool) -> str | None:
        bindings = self._flow.reaching(node)
        if arrays and any(binding.kind == "parameter" for binding in bindings):
            # One call that hands over what MPS lacks is enough.
            given = (self.array(item) for item in self._sources.handed_over(node))
            return "float64" if "float64" in given else None
        found = set()
        for binding in bindings:
            if binding.kind not in ("assign", "annotate", "walrus"):
                return None
            found.add(self.array(binding.value) if arrays else self.tensor(binding.value))
        return found.pop() if len(found) == 1 else None

    def _promoted(self, node: ast.BinOp, *, arrays: bool) -> str | None:
        """float64 with Python numbers or its like stays float64; anything else is left open."""
        of = self.array if arrays else self.tensor
        left, right = of(node.left), of(node.right)
        if left == right:
            return left
        known, other = (left, node.right) if left is not None else (right, node.left)
        if known in ("float64", "float32", "float16") and self._is_python_number(other):
            return known
        return None

    def _is_python_number(self, node: ast.expr) -> bool:
        return _is_number(node) or self._values.of(node).kind is Kind.NUMBER


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((item.value for item in call.keywords if item.arg == name), None)


def _keeps_array(index: ast.expr) -> bool:
    if isinstance(index, ast.Tuple):
        return any(_keeps_array(item) for item in index.elts)
    return isinstance(index, ast.Slice) or (
        isinstance(index, ast.Constant) and (index.value is None or index.value is Ellipsis)
    )


def _flat(node: ast.List | ast.Tuple) -> list[ast.expr]:
    found: list[ast.expr] = []
    for item in node.elts:
        found += _flat(item) if isinstance(item, ast.List | ast.Tuple) else [item]
    return found


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and not isinstance(node.value, bool)
    )


def _is_float(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, float)
