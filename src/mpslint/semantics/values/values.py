"""What an expression is, and where it lives: the way in.

`Values.of` answers for any expression; `value.py` says what an answer means. The parts, by reason
to change: `calls` and `builtins` (what calls return), `bindings` (what names are
bound to), `sequences` (what lies in containers), `types` (annotations, classes),
`moves`, `parameters` (modules that move), `tables` (names).
"""

from __future__ import annotations

import ast
import weakref
from collections.abc import Callable
from typing import Any

from mpslint.semantics.elsewhere.imported import Imported, imported_base
from mpslint.semantics.guards.guards import Guards
from mpslint.semantics.names.flow import Flow
from mpslint.semantics.names.names import Binding, Names
from mpslint.semantics.names.type_arms import is_no_tensor
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import Index
from mpslint.semantics.terms.device_text import TYPED
from mpslint.semantics.terms.value import (
    ANY_DEVICE,
    CPU_ONLY,
    FLAG,
    NDARRAY,
    NUMBER,
    OTHER,
    STRING,
    UNKNOWN,
    Kind,
    Value,
    arithmetic,
    join,
)
from mpslint.semantics.terms.value_tables import (
    FACTORIES,
    LIKE_FACTORIES,
    MODEL_OUTPUTS,
    REDUCTIONS,
)
from mpslint.semantics.values.bindings import BoundValues
from mpslint.semantics.values.builtins import builtin_call
from mpslint.semantics.values.calls import CallValues
from mpslint.semantics.values.encodings import is_encoded
from mpslint.semantics.values.moves import Moves
from mpslint.semantics.values.parameters import moves_with_module
from mpslint.semantics.values.sequences import Sequences
from mpslint.semantics.values.sizes import has_size
from mpslint.semantics.values.types import Types

__all__ = [
    "ANY_DEVICE",
    "FACTORIES",
    "LIKE_FACTORIES",
    "UNKNOWN",
    "Kind",
    "Value",
    "Values",
    "join",
]

MAX_DEPTH = 40


class Values:
    """Values of expressions, computed on demand and remembered."""

    def __init__(
        self,
        index: Index,
        names: Names,
        flow: Flow,
        guards: Guards,
        told: Imported | None = None,
    ) -> None:
        """`told` tells of names that the file imports from its project."""
        self._index = index
        self._names = names
        self._flow = flow
        self._guards = guards
        self._told = told
        self._known: dict[ast.AST, Value] = {}
        self.busy: set[ast.AST] = set()
        """Nodes whose value is being worked out: what comes back to one of them is a cycle."""
        self.cuts = 0
        """How often a value was not worked out for that, or for the depth."""
        self._types = Types(names)
        # The parts ask back; weakly, so that a file's tree goes when its last finding does.
        whole = weakref.proxy(self)
        self._bindings = BoundValues(whole, index, names, flow, told)
        self._calls = CallValues(whole, index, names)
        self._moves = Moves(whole, index)
        self._sequences = Sequences(whole, index, names, flow)

    def of(self, node: ast.expr | None) -> Value:
        if node is None:
            return UNKNOWN
        known = self._known.get(node)
        if known is not None:
            return known
        if node in self.busy or len(self.busy) > MAX_DEPTH:
            self.cuts += 1
            return UNKNOWN
        cuts = self.cuts
        self.busy.add(node)
        try:
            value = self._evaluate(node)
        finally:
            self.busy.discard(node)
        # A result cut short by the depth limit or a cycle may be wrong for another question.
        if not self.busy or value is not UNKNOWN or cuts == self.cuts:
            self._known[node] = value
        return value

    def _evaluate(self, node: ast.expr) -> Value:
        method = _EVALUATORS.get(type(node))
        return method(self, node) if method is not None else UNKNOWN

    def _constant(self, node: ast.Constant) -> Value:
        if isinstance(node.value, str):
            match = TYPED.match(node.value)
            if match:
                return Value(Kind.DEVICE_STRING, frozenset({match.group(1)}))
            return STRING
        if isinstance(node.value, bool):
            return FLAG
        if isinstance(node.value, int | float | complex):
            return NUMBER
        return OTHER if node.value is not None else Value(Kind.OTHER)

    def _joined(self, node: ast.JoinedStr) -> Value:
        first = node.values[0] if node.values else None
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            if len(node.values) == 1:
                return self.of(first)
            word = first.value.split(":")[0]
            if ":" in first.value and TYPED.match(word):
                return Value(Kind.DEVICE_STRING, frozenset({word}))
        return STRING

    def _name(self, node: ast.Name) -> Value:
        bindings = self._flow.reaching(node)
        if not bindings:
            return UNKNOWN
        values = [self.bound(binding, node) for binding in bindings[:12]]
        value = join(values)
        if value.kind is Kind.MODULE:
            return self._moves.moved(node.id, value)
        if value.kind is Kind.TENSOR and is_no_tensor(self._index, self._names, node, bindings):
            return UNKNOWN
        if value.kind is Kind.TENSOR and value.on_cpu and not value.computed:
            moved = self._bindings.moved_parts(node, bindings)
            if moved is not None:
                return value._replace(devices=moved.devices)
        return value

    def _attribute(self, node: ast.Attribute) -> Value:
        qualified = self._names.resolve(node)
        if qualified is not None and qualified.startswith("torch."):
            if qualified.startswith(
                ("torch.float", "torch.int", "torch.bfloat", "torch.uint")
            ) or qualified in ("torch.half", "torch.double", "torch.long", "torch.bool"):
                return OTHER
            if _is_class_name(qualified):
                return Value(Kind.CLASS)
        if self._told is not None:
            found = self._told.device(qualified, called=False)
            if found is not None:
                return found
        if is_encoded(self._index, self._flow, node):
            return Value(Kind.TENSOR, CPU_ONLY)
        base = self.of(node.value)
        if base.kind is Kind.TENSOR:
            if node.attr in ("data", "grad", "T", "mT", "H", "real", "imag"):
                return base._replace(loss=False)
            if node.attr == "device":
                return Value(Kind.DEVICE, base.devices)
            if node.attr in (
                "shape",
                "dtype",
                "ndim",
                "is_cuda",
                "requires_grad",
                "grad_fn",
                "layout",
            ):
                return OTHER
            if node.attr in MODEL_OUTPUTS and base.loss:
                return base
            return UNKNOWN
        if node.attr == "grad" and base.kind is Kind.UNKNOWN and qualified is None:
            return Value(Kind.TENSOR, base.devices, computed=True, by_use=True)
        if node.attr == "device" and base.kind is Kind.MODULE:
            assigned = self._assigned(node)
            return (
                assigned if assigned.kind is not Kind.UNKNOWN else Value(Kind.DEVICE, base.devices)
            )
        if base.kind in (Kind.NDARRAY,):
            return NDARRAY if node.attr in ("T", "real", "imag", "flat") else OTHER
        assigned = self._assigned(node)
        if assigned.kind is Kind.MODULE:
            return self._moves.moved(ast.unparse(node), assigned)
        if assigned.kind is Kind.UNKNOWN and node.attr == "device":
            return Value(Kind.DEVICE)
        return assigned

    def _assigned(self, node: ast.Attribute) -> Value:
        """What this file assigns to the same attribute (`self.x` only in the same class, or else
        in a base class of the project)."""
        values = self._guards.assigned(node)
        of_self = isinstance(node.value, ast.Name) and node.value.id == "self"
        if values and of_self:
            klass = self._index.enclosing(node, ast.ClassDef)
            values = [v for v in values if self._index.enclosing(v, ast.ClassDef) is klass]
        if not values and of_self and self._told is not None:
            base = imported_base(self._index, self._names, node)
            return self._told.inherited_device(base, node.attr) or UNKNOWN
        if not values:
            return UNKNOWN
        joined = join([self.of(value) for value in values[:12]])
        if joined.on_cpu and of_self and moves_with_module(self._index, self._names, node, values):
            return joined._replace(devices=None)
        return joined

    def _call(self, node: ast.Call) -> Value:
        qualified = self._names.resolve(node.func)
        if qualified is not None:
            value = self._calls.library_call(node, qualified)
            if value is not None:
                return value
            if self._told is not None and not node.args and not node.keywords:
                value = self._told.device(qualified, called=True)
                if value is not None:
                    return value
        if isinstance(node.func, ast.Attribute):
            if node.func.attr == "format" and isinstance(node.func.value, ast.Constant):
                return self.formatted(node.func.value)
            value = self._calls.method_call(node, node.func)
            if value is not None:
                return value
        if qualified is None or not qualified.startswith("torch."):
            value = self._calls.local_call(node)
            if value is not None:
                return value
        return builtin_call(self, node)

    def bound(self, binding: Binding, name: ast.Name) -> Value:
        """What `binding` gives to `name`."""
        if binding.kind == "import" and self._told is not None:
            found = self._told.device(binding.qualified, called=False)
            if found is not None:
                return found
        return self._bindings.bound(binding, name)

    def drawn(self, iterable: ast.expr | None, position: int | None, nested: bool) -> Value:
        """One element of an iterable (its `position`-th part, where it is unpacked)."""
        return self._bindings.drawn(iterable, position, nested)

    def returned(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Value:
        """What a call of a function of this file gives."""
        return self._calls.returned(function)

    def element(self, node: ast.expr) -> Value:
        """What every element of a list, tuple, set or dictionary is."""
        return self._sequences.element(node)

    def annotation(self, node: ast.expr | None) -> Value:
        """What an annotation says of a value."""
        return self._types.annotation(node)

    def is_module_class(self, klass: ast.ClassDef) -> bool:
        """Whether a class of this file is an nn.Module, by its bases and their names."""
        return self._types.is_module_class(klass)

    def last_name(self, node: ast.AST) -> str | None:
        """`c` of `a.b.c`, `a` of `a`."""
        return last_name(node)

    def device_types(self, node: ast.expr | None) -> frozenset[str] | None:
        """The device types that an expression in a device slot may name; None: unknown."""
        value = self.of(node)
        if value.kind in (Kind.DEVICE, Kind.DEVICE_STRING):
            # A device from out of sight may be any; say so, so that "moved" is known.
            return value.devices if value.devices is not None else ANY_DEVICE
        if value.kind is Kind.NUMBER:
            return frozenset({"cuda"})
        return ANY_DEVICE if value.kind is Kind.UNKNOWN else None

    def _binary(self, node: ast.BinOp) -> Value:
        left, right = self.of(node.left), self.of(node.right)
        if isinstance(node.op, ast.Mod | ast.Add) and left.kind in (
            Kind.STRING,
            Kind.DEVICE_STRING,
        ):
            return self.formatted(node.left)
        # A tensor of the CPU goes where the other one is only if it is a single number.
        on_cpu = (node.left, left.on_cpu), (node.right, right.on_cpu)
        sized = any(
            known and has_size(self._names, self._flow, side)
            for side, known in on_cpu
            if None in (left.devices, right.devices)
        )
        return arithmetic(left, right, sized)

    def formatted(self, text: ast.expr) -> Value:
        """`"cuda:%d" % rank`, `"cuda:" + str(rank)`, `"cuda:{}".format(rank)` name a device."""
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            word, colon, _ = text.value.partition(":")
            if colon and TYPED.match(word):
                return Value(Kind.DEVICE_STRING, frozenset({word}))
        return STRING

    def _unary(self, node: ast.UnaryOp) -> Value:
        return FLAG if isinstance(node.op, ast.Not) else self.of(node.operand)

    def _compared(self, node: ast.Compare) -> Value:
        sides = [self.of(node.left), *(self.of(item) for item in node.comparators)]
        if any(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in node.ops):
            return FLAG
        tensors = [side.as_tensor for side in sides if side.as_tensor.kind is Kind.TENSOR]
        if tensors:
            return tensors[0]._replace(loss=False, computed=True)
        if any(side.kind is Kind.NDARRAY for side in sides):
            return NDARRAY
        # `mask > threshold` on something unknown may be a tensor of flags.
        return UNKNOWN if all(side.kind in (Kind.UNKNOWN, Kind.NUMBER) for side in sides) else FLAG

    def _boolean(self, node: ast.BoolOp) -> Value:
        return join([self.of(value) for value in node.values])

    def _conditional(self, node: ast.IfExp) -> Value:
        return join([self.of(node.body), self.of(node.orelse)])

    def _subscript(self, node: ast.Subscript) -> Value:
        base = self.of(node.value)
        if base.kind in (Kind.TENSOR, Kind.NDARRAY):
            return base
        if base.kind is Kind.MODULE or (base.kind is Kind.UNKNOWN and base.devices is not None):
            return base
        part = self._sequences.item if base.kind is Kind.SEQUENCE else self._sequences.stored
        known = part(node.value, node.slice)
        if known.kind is Kind.UNKNOWN and known.devices is None:
            asked = self._index.parents[node]
            if isinstance(asked, ast.Attribute) and asked.attr in REDUCTIONS:
                known = self._sequences.moved_tensors(node.value)
            return known if known.devices is not None else self._bindings.item_by_use(node)
        return known

    def _sequence(self, node: ast.expr) -> Value:
        return Value(Kind.SEQUENCE)

    def _other(self, node: ast.expr) -> Value:
        return OTHER

    def _walrus(self, node: ast.NamedExpr) -> Value:
        return self.of(node.value)

    def _awaited(self, node: ast.Await) -> Value:
        return self.of(node.value)


_EVALUATORS: dict[type, Callable[[Values, Any], Value]] = {
    ast.Constant: Values._constant,
    ast.JoinedStr: Values._joined,
    ast.Name: Values._name,
    ast.Attribute: Values._attribute,
    ast.Call: Values._call,
    ast.BinOp: Values._binary,
    ast.UnaryOp: Values._unary,
    ast.Compare: Values._compared,
    ast.BoolOp: Values._boolean,
    ast.IfExp: Values._conditional,
    ast.Subscript: Values._subscript,
    ast.List: Values._sequence,
    ast.Tuple: Values._sequence,
    ast.Set: Values._sequence,
    ast.ListComp: Values._sequence,
    ast.GeneratorExp: Values._sequence,
    ast.Dict: Values._sequence,
    ast.DictComp: Values._sequence,
    ast.SetComp: Values._sequence,
    ast.Lambda: Values._other,
    ast.NamedExpr: Values._walrus,
    ast.Await: Values._awaited,
}


def _is_class_name(qualified: str) -> bool:
    return qualified.rsplit(".", 1)[-1][:1].isupper()
