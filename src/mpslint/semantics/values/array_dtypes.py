"""Which dtype a NumPy array has, where that is certain."""

from __future__ import annotations

import ast

from mpslint.basics.words import words
from mpslint.facts import arrays as facts
from mpslint.facts.complex_numbers import COMPLEX
from mpslint.facts.machines import sklearn_arrays
from mpslint.semantics.names.flow import Flow
from mpslint.semantics.names.names import Binding, Names
from mpslint.semantics.syntax.expressions import keyword
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.values.array_sources import ArraySources, part_of
from mpslint.semantics.values.kept_arrays import KeptArrays
from mpslint.semantics.values.values import Values

MAX_DEPTH = 12
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
_JOINING = frozenset({"concatenate", "stack", "vstack", "hstack"})
KEEPING = words(
    """
    reshape copy transpose flatten ravel squeeze repeat clip cumsum cumprod view unsqueeze
    permute contiguous t clone detach requires_grad_ expand cuda cpu pin_memory flip
    share_memory_ view_as
    expand_as index_select narrow
    """
)
_NUMBERS = {
    "len": facts.INTEGER,
    "int": facts.INTEGER,
    "float": facts.REAL,
    "complex": COMPLEX,
}
"""Builtins that give a number of Python's."""
_CONSTANTS = frozenset({"numpy.pi", "numpy.e", "math.pi", "math.e"})


class ArrayDTypes:
    def __init__(self, names: Names, flow: Flow, values: Values, sources: ArraySources) -> None:
        self._names = names
        self._sources = sources
        self._kept = KeptArrays(sources.index, names, flow, sources)
        self._flow = flow
        self._values = values
        self._depth = 0
        self._inside = False
        """In a function that hands the array back: what that is given differs by the call."""

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

    def array(self, node: ast.expr | None) -> str | None:
        """The dtype of a NumPy array, None where it is not certain (or no array)."""
        if node is None or self._depth > MAX_DEPTH:
            return None
        self._depth += 1
        try:
            return self._array(node)
        finally:
            self._depth -= 1

    def _array(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Name):
            return self._array_of_name(node)
        if isinstance(node, ast.Attribute):
            if node.attr == "T":
                return self.array(node.value)
            found = {self.array(item) for item in self._sources.attribute(node)}
            return found.pop() if len(found) == 1 else None
        if isinstance(node, ast.Subscript):
            # One element is of NumPy's own float64 as well, of which torch makes such a tensor.
            of_array = None if _is_field(node.slice) else self.array(node.value)
            return of_array or self._of_items(node)
        if isinstance(node, ast.UnaryOp):
            return self.array(node.operand)
        if isinstance(node, ast.BinOp):
            return facts.combined(
                type(node.op).__name__, self._side(node.left), self._side(node.right)
            )
        if isinstance(node, ast.Call):
            return self._array_call(node)
        return None

    def _of_items(self, node: ast.Subscript) -> str | None:
        """The dtype of the arrays that a list or a table holds."""
        found = {self.array(one) for one in self._kept.items(node)}
        return found.pop() if len(found) == 1 else None

    def _returned(self, node: ast.Call) -> str | None:
        """What all `return`s of a function of the file hand back, whatever it is given."""
        inside, self._inside = self._inside, True
        try:
            found = {self.array(one) for one in self._sources.returned(node)}
        finally:
            self._inside = inside
        return found.pop() if len(found) == 1 else None

    def _array_call(self, node: ast.Call) -> str | None:
        given = keyword(node, "dtype")
        function = node.func
        qualified = self._names.resolve(function) or ""
        module, _, name = qualified.rpartition(".")
        if module == "sklearn.utils.class_weight" and name in facts.SKLEARN_WEIGHTS:
            return "float64"
        if isinstance(function, ast.Attribute) and not qualified.startswith("numpy."):
            return self._returned(node) or self._array_method(node, function, given)
        if not qualified.startswith("numpy."):
            return self._returned(node)
        last = qualified.rsplit(".", 1)[-1]
        place = facts.DTYPE_AT.get(last)
        if given is None and place is not None and len(node.args) > place:
            given = node.args[place]
        if given is not None:
            return self.numpy_dtype(given)
        if qualified == f"numpy.random.{last}" and facts.size_at(last) is not None:
            return self._drawn(node, last)
        name = qualified[len("numpy.") :]
        if name in facts.MADE_WIDE:
            return "float64" if node.args else None
        if last in ("array", "asarray", "ascontiguousarray") and node.args:
            return self._from_literal(node.args[0])
        return self._made_of_arrays(node, name) if node.args else None

    def _made_of_arrays(self, node: ast.Call, name: str) -> str | None:
        """What a function of NumPy makes of its arguments."""
        if name == "unique":
            alone = len(node.args) + len(node.keywords) == 1
            return self.array(node.args[0]) if alone else None
        if name in _JOINING:
            return self._joined(node.args[0])
        weighed = len(node.args) > 1 or keyword(node, "weights") is not None
        return facts.made_of(
            name, len(node.args), lambda at: self._argument(node.args[at]), weighed=weighed
        )

    def _argument(self, node: ast.expr) -> str | None:
        found = self._from_literal(node)
        return found if found is not None else self.number(node)

    def _array_method(
        self, node: ast.Call, function: ast.Attribute, given: ast.expr | None
    ) -> str | None:
        name = function.attr
        if name == "astype" and (node.args or given):
            return self.numpy_dtype(node.args[0] if node.args else given)
        if facts.size_at(name) is not None and self._generator(function.value):
            return self._drawn(node, name)
        if name in ("fit_transform", "transform") and node.args and self._scales(function.value):
            return facts.as_float(self.array(node.args[0]))
        if given is not None and name in facts.MEANS | facts.TOTALS:
            return self.numpy_dtype(given)
        dtype = self.array(function.value)
        return dtype if name in KEEPING else facts.made_by_method(name, dtype)

    def _scales(self, node: ast.expr) -> bool:
        """Whether `node` is a scaler of scikit-learn."""
        made = self._made(node)
        qualified = self._names.resolve(made.func) if made is not None else None
        module, _, name = (qualified or "").rpartition(".")
        return module.startswith("sklearn.preprocessing") and name in facts.SCALERS

    def _made(self, node: ast.expr) -> ast.Call | None:
        """The one call that gives `node`, by way of a name."""
        if isinstance(node, ast.Name):
            found = self._flow.reaching(node)
            if len(found) != 1 or found[0].kind != "assign" or found[0].value is None:
                return None
            node = found[0].value
        return node if isinstance(node, ast.Call) else None

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
        made = self._made(node)
        return made is not None and self._names.resolve(made.func) in (
            "numpy.random.default_rng",
            "numpy.random.RandomState",
            "numpy.random.Generator",
        )

    def _drawn(self, node: ast.Call, name: str) -> str | None:
        at = facts.size_at(name)
        sized = keyword(node, "size") is not None or (at is not None and len(node.args) > at)
        given = keyword(node, "dtype")
        if given is not None:
            return self.numpy_dtype(given)
        return "float64" if sized else None

    def _from_literal(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.List | ast.Tuple):
            numbers = list(_flat(node))
            if not numbers or not all(is_number(item) for item in numbers):
                return None
            return "float64" if any(_is_float(item) for item in numbers) else "int64"
        if isinstance(node, ast.Name):
            found = {self._from_literal(item) for item in self._sources.literals(node)}
            if found:
                return found.pop() if len(found) == 1 else None
        return self.array(node)

    def _array_of_name(self, node: ast.Name) -> str | None:
        bindings = self._flow.reaching(node)
        if any(binding.kind == "parameter" for binding in bindings):
            if self._inside:
                return None
            # One call that hands over what MPS lacks is enough.
            given = {self.array(item) for item in self._sources.handed_over(node)}
            return "float64" if "float64" in given else given.pop() if len(given) == 1 else None
        found = set()
        todo, seen = list(bindings), set[ast.AST]()
        while todo:
            binding = todo.pop()
            if binding.kind == "augment":  # In place: an array keeps its dtype.
                if binding.node not in seen:
                    seen.add(binding.node)
                    todo += self._flow.reaching_name(node.id, binding.node)
            elif binding.kind == "unpack":
                found.add(self._of_part(binding))
            elif binding.kind in ("assign", "annotate", "walrus"):
                found.add(self.array(binding.value))
            else:
                return None
        return found.pop() if len(found) == 1 else None

    def _of_part(self, binding: Binding) -> str | None:
        """The dtype of an array that is one of several: `xs, ys = np.zeros(3), np.ones(3)`."""
        at, count = part_of(binding)
        value = binding.value
        if at is None:
            return None
        if isinstance(value, ast.Tuple | ast.List):
            spread = any(isinstance(item, ast.Starred) for item in value.elts)
            return self.array(value.elts[at]) if len(value.elts) == count and not spread else None
        if not isinstance(value, ast.Call):
            return None
        name = self._names.resolve(value.func) or ""
        if name == "numpy.unique":
            return "int64" if at else self._from_literal(value.args[0]) if value.args else None
        if name == "sklearn.model_selection.train_test_split" and count == 2 * len(value.args):
            return self.array(value.args[at // 2])
        pair = sklearn_arrays(name, as_pair=keyword(value, "return_X_y") is not None)
        return pair[at] if pair is not None and at < 2 else None

    def _side(self, node: ast.expr) -> str | None:
        """What an operand is: the dtype of an array, or which kind of Python's numbers."""
        found = self.array(node)
        return found if found is not None else self.number(node)

    def number(self, node: ast.expr) -> str | None:
        """Which kind of number of Python's an expression is; None: none, or nobody knows."""
        if _is_complex(node):
            return COMPLEX
        if is_number(node):
            return facts.REAL if _is_float(node) else facts.INTEGER
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            if self._names.owner(node.func.id, node) is None and node.func.id in _NUMBERS:
                return _NUMBERS[node.func.id]
        if isinstance(node, ast.Attribute) and self._names.resolve(node) in _CONSTANTS:
            return facts.REAL
        if isinstance(node, ast.BinOp):
            sides = {self.number(node.left), self.number(node.right)}
            if COMPLEX in sides:
                return COMPLEX
            if None not in sides and (facts.REAL in sides or isinstance(node.op, ast.Div)):
                return facts.REAL
        return facts.NUMBER if self._values.of(node).kind is Kind.NUMBER else None


def _is_field(index: ast.expr) -> bool:
    """Whether an index names a field, whose dtype is its own."""
    return isinstance(index, ast.Constant) and isinstance(index.value, str)


def _flat(node: ast.List | ast.Tuple) -> list[ast.expr]:
    found: list[ast.expr] = []
    for item in node.elts:
        found += _flat(item) if isinstance(item, ast.List | ast.Tuple) else [item]
    return found


def is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and not isinstance(node.value, bool)
    )


def _is_complex(node: ast.expr) -> bool:
    """`1j`"""
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, complex)


def _is_float(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, float)
