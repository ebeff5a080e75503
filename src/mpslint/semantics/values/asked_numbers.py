"""Expressions that ask a tensor for its numbers without a method that says so.

`"%.3f" % loss`, `1.5 in output`, `torch.equal(a, b)`, `output[output > 0]`, `map(float, output)`:
each waits until the numbers are there, as `.item()` does.
"""

from __future__ import annotations

import ast

from mpslint.semantics.names.flow import Flow
from mpslint.semantics.names.names import Names
from mpslint.semantics.syntax.expressions import argument, last_name
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.values.sized_by_data import is_sized_by_data, operand
from mpslint.semantics.values.values import Values

READERS = frozenset({"print", "float", "int", "bool", "str", "repr", "max", "min", "sorted"})
"""Python's own, which ask what they are given for its numbers."""
_TRUTHS = frozenset({"any", "all"})
_METHODS = frozenset(
    {"__float__", "__int__", "__bool__", "__index__", "__complex__", "__contains__"}
    | {"__str__", "__repr__", "__format__"}
)
_COMPARING = frozenset({"equal", "allclose", "is_nonzero"})
"""Functions and methods of torch's that hand back a truth of Python's."""
_ON_HOST = frozenset(
    {Kind.NUMBER, Kind.STRING, Kind.FLAG, Kind.DEVICE, Kind.DEVICE_STRING, Kind.NDARRAY}
)
READS = frozenset({"item", "tolist", "numpy", "cpu", "__array__"})


class AskedNumbers:
    def __init__(self, names: Names, values: Values, flow: Flow) -> None:
        self._names = names
        self._values = values
        self._flow = flow

    def asks(self, node: ast.AST) -> bool:
        """Whether `node` itself asks, once its parts are evaluated."""
        if isinstance(node, ast.FormattedValue):
            return self.may_be_tensor(node.value)
        if isinstance(node, ast.If | ast.IfExp | ast.Assert | ast.While):
            return self.is_read(node.test)
        if isinstance(node, ast.BoolOp):
            return any(self.is_read(value) for value in node.values[:-1])
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self.is_read(node.operand)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            return self._is_text(node.left) and self._shows(node.right)
        if isinstance(node, ast.Compare):
            return self._looks_into(node)
        if isinstance(node, ast.Subscript):
            return isinstance(node.ctx, ast.Load) and self._is_mask(node.slice)
        return isinstance(node, ast.Call) and self._call_asks(node)

    def is_read(self, test: ast.expr) -> bool:
        """Whether the truth of `test` is read from a tensor of a device."""
        if isinstance(test, ast.BoolOp):
            return any(self.is_read(value) for value in test.values)
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self.is_read(test.operand)
        return self._is_tensor(test)

    def may_be_tensor(self, node: ast.expr) -> bool:
        return not isinstance(node, ast.Constant) and self._values.of(node).kind in (
            Kind.TENSOR,
            Kind.UNKNOWN,
            Kind.SEQUENCE,
        )

    def maps_reader(self, call: ast.Call) -> bool:
        """`map(float, output)`, for who goes through it."""
        if not self._is_own(call, "map") or len(call.args) < 2:
            return False
        function = call.args[0]
        reads = last_name(function) in (READERS if isinstance(function, ast.Name) else READS)
        return reads and any(self.may_be_tensor(argument) for argument in call.args[1:])

    def _call_asks(self, call: ast.Call) -> bool:
        name = last_name(call.func) or ""
        qualified = self._names.resolve(call.func) or ""
        if qualified == "torch.save":
            # What it writes of a device it copies first, behind all that is queued.
            written = argument(call, 0, "obj")
            return written is None or self._may_hold_tensors(written)
        if isinstance(call.func, ast.Name) and not qualified:
            return name in _TRUTHS and any(self._is_tensor(part) for part in _elements(call))
        if isinstance(call.func, ast.Attribute):
            if name in _METHODS:
                return self.may_be_tensor(call.func.value)
            if name == "format" and self._is_text(call.func.value):
                given = [*call.args, *(item.value for item in call.keywords)]
                return any(self._shows(item) for item in given)
        asked = operand(self._names, call)
        if asked is None or not self._is_tensor(asked):
            return False
        return name in _COMPARING or is_sized_by_data(self._names, self._values, call)

    def _may_hold_tensors(self, node: ast.expr) -> bool:
        """Whether something of a device may be in what is written: a number, a text and what was
        copied to the CPU are not."""
        if isinstance(node, ast.Constant):
            return False
        if isinstance(node, ast.Dict):
            return any(self._may_hold_tensors(part) for part in node.values)
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            return any(self._may_hold_tensors(part) for part in node.elts)
        value = self._values.of(node)
        return not value.on_cpu and value.kind not in _ON_HOST

    def _looks_into(self, node: ast.Compare) -> bool:
        """`1.5 in output`, `loss in (low, high)`, and `0 < loss < 1`, which asks for a truth."""
        parts = [node.left, *node.comparators]
        if len(node.ops) > 1:
            return any(self._is_tensor(part) for part in parts)
        if not isinstance(node.ops[0], ast.In | ast.NotIn):
            return False
        listed = isinstance(parts[1], ast.List | ast.Tuple)
        return self._is_tensor(parts[1]) or (listed and self._is_tensor(parts[0]))

    def _is_mask(self, index: ast.expr) -> bool:
        """A comparison of tensors, or a name for one."""
        if isinstance(index, ast.Name):
            bindings = self._flow.reaching(index)
            if len(bindings) != 1 or not isinstance(bindings[0].value, ast.Compare):
                return False
        elif isinstance(index, ast.BinOp) and isinstance(index.op, ast.BitAnd | ast.BitOr):
            return self._is_mask(index.left) or self._is_mask(index.right)
        elif isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.Invert):
            return self._is_mask(index.operand)
        elif not isinstance(index, ast.Compare):
            return False
        return self._is_tensor(index)

    def _shows(self, node: ast.expr) -> bool:
        """Whether a text is made of what may be a tensor."""
        if isinstance(node, ast.Tuple):
            return any(self._shows(part) for part in node.elts)
        return self.may_be_tensor(node)

    def _is_text(self, node: ast.expr) -> bool:
        return self._values.of(node).kind is Kind.STRING

    def _is_tensor(self, node: ast.expr) -> bool:
        value = self._values.of(node)
        return value.kind is Kind.TENSOR and not value.on_cpu

    def _is_own(self, call: ast.Call, name: str) -> bool:
        """Whether Python's own function of this name is called."""
        own = isinstance(call.func, ast.Name) and call.func.id == name
        return own and self._names.owner(name, call.func) is None


def _elements(call: ast.Call) -> list[ast.expr]:
    """What a call goes through: the elements that a comprehension makes, else what it is given."""
    return [
        item.elt if isinstance(item, ast.GeneratorExp | ast.ListComp) else item
        for item in call.args
    ]
