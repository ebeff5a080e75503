"""Tensors that a module's `forward` creates on the CPU, and whether they meet its arguments."""

from __future__ import annotations

import ast

from mpslint.basics.words import words
from mpslint.semantics.names.flow import Flow
from mpslint.semantics.names.names import Names
from mpslint.semantics.syntax.expressions import keyword, last_name
from mpslint.semantics.syntax.index import FunctionNode, Index
from mpslint.semantics.syntax.parameters import positional_parameters
from mpslint.semantics.terms.value import CPU_ONLY, Kind
from mpslint.semantics.values.values import FACTORIES, Values

_MOVING = words(
    """
    to cuda type_as type cpu mps numpy tolist item to_empty
    """
)
_SHAPE_ONLY = words(
    """
    shape size dim numel ndim dtype device
    """
)
_CHAINED = words(
    """
    unsqueeze squeeze view reshape expand expand_as repeat float long int bool half double t
    transpose permute flatten contiguous clone fill_ zero_ uniform_ normal_ tril triu mul add
    sub div mul_ add_ requires_grad_ detach unbind chunk flip
    """
)
_JOINING = words(
    """
    cat stack hstack vstack concat concatenate where matmul bmm mm einsum dot add sub mul div
    maximum minimum addmm baddbmm lerp logaddexp outer
    """
)


class Creations:
    def __init__(self, index: Index, names: Names, flow: Flow, values: Values) -> None:
        self._index = index
        self._flow = flow
        self._names = names
        self._values = values
        self._arguments: dict[FunctionNode, set[str]] = {}

    def forward(self, call: ast.Call) -> FunctionNode | None:
        """The `forward` of a module of this file in which a factory makes a tensor on the CPU."""
        function = self._index.function(call)
        if function is None or function.name not in ("forward", "__call__", "step"):
            return None
        klass = self._index.parents.get(function)
        if not isinstance(klass, ast.ClassDef) or not self._values.is_module_class(klass):
            return None
        name = self._names.resolve(call.func) or ""
        if not name.startswith("torch.") or name.removeprefix("torch.") not in FACTORIES:
            return None
        if keyword(call, "device") is not None or keyword(call, "out") is not None:
            return None
        value = self._values.of(call)
        if value.kind is not Kind.TENSOR or value.devices != CPU_ONLY:
            return None
        return function

    def meets_argument(self, call: ast.Call, function: FunctionNode) -> ast.AST | None:
        """Where the new tensor is combined with what came in, still on the CPU; None if nowhere."""
        if _is_scalar(call):
            return None
        top = self._chain(call)
        if top is None:
            return None
        met = self._met(top, function)
        if met is not None:
            return met
        statement = self._index.parents[top]
        return self._assigned(statement, function) if isinstance(statement, ast.Assign) else None

    def _name_met(
        self, statement: ast.Assign, name: str, function: FunctionNode, depth: int = 0
    ) -> ast.AST | None:
        """The first use of the name that meets an argument, if none of its uses moves it."""
        found: ast.AST | None = None
        for use in self._index.names.get(name, ()):
            if not isinstance(use.ctx, ast.Load) or self._index.function(use) is not function:
                continue
            if all(binding.node is not statement for binding in self._flow.reaching(use)):
                continue
            top = self._chain(use)
            if top is None:
                return None
            met = self._met(top, function)
            after = self._index.parents[top]
            if met is None and depth < 2 and isinstance(after, ast.Assign):
                met = self._assigned(after, function, depth + 1)
            found = found or met
        return found

    def _assigned(
        self, statement: ast.Assign, function: FunctionNode, depth: int = 0
    ) -> ast.AST | None:
        target = statement.targets[0]
        if len(statement.targets) != 1 or not isinstance(target, ast.Name):
            return None
        return self._name_met(statement, target.id, function, depth)

    def _chain(self, node: ast.expr) -> ast.expr | None:
        """The end of the chain of methods on `node`; None where it moves or leaves torch."""
        while True:
            parent = self._index.parents[node]
            if not isinstance(parent, ast.Attribute):
                return node
            if parent.attr in _MOVING:
                return None
            call = self._index.parents[parent]
            if parent.attr not in _CHAINED or not isinstance(call, ast.Call):
                return node
            node = call

    def _met(self, node: ast.expr, function: FunctionNode) -> ast.AST | None:
        parent = self._index.parents[node]
        if isinstance(parent, ast.BinOp):
            other = parent.right if parent.left is node else parent.left
            return parent if self._from_outside(other, function) else None
        if isinstance(parent, ast.Compare) and len(parent.comparators) == 1:
            other = parent.comparators[0] if parent.left is node else parent.left
            return parent if self._from_outside(other, function) else None
        if isinstance(parent, ast.List | ast.Tuple):
            call = self._index.parents[parent]
            if isinstance(call, ast.Call) and self._is_layer(call.func):
                return call
            if isinstance(call, ast.Call) and last_name(call.func) in _JOINING:
                others = [item for item in parent.elts if item is not node]
                return call if any(self._from_outside(o, function) for o in others) else None
            return None
        if isinstance(parent, ast.Call) and node in parent.args:
            return self._met_in_call(parent, node, function)
        return None

    def _met_in_call(
        self, call: ast.Call, node: ast.expr, function: FunctionNode
    ) -> ast.AST | None:
        if self._is_layer(call.func):
            return call
        if last_name(call.func) in _JOINING:
            others = [item for item in call.args if item is not node]
            if isinstance(call.func, ast.Attribute) and self._names.resolve(call.func) is None:
                others.append(call.func.value)
            return call if any(self._from_outside(o, function) for o in others) else None
        return None

    def _is_layer(self, called: ast.expr) -> bool:
        """A layer of the module: its weights are where the module is."""
        if not isinstance(called, ast.Attribute) or not isinstance(called.value, ast.Name):
            return False
        value = self._values.of(called)
        return called.value.id == "self" and value.kind is Kind.MODULE and bool(value.devices)

    def _from_outside(self, node: ast.expr, function: FunctionNode) -> bool:
        """Whether an expression is a tensor made from the arguments, not only from their shape."""
        value = self._values.of(node)
        if value.kind not in (Kind.TENSOR, Kind.UNKNOWN) or value.on_cpu:
            return False
        names = self._argument_names(function)
        return any(
            isinstance(item, ast.Name) and item.id in names and not self._only_shape(item)
            for item in ast.walk(node)
        )

    def _only_shape(self, name: ast.Name) -> bool:
        parent = self._index.parents[name]
        if isinstance(parent, ast.Attribute) and parent.attr in _SHAPE_ONLY:
            return True
        return isinstance(parent, ast.Call) and last_name(parent.func) in ("len", "range", "int")

    def _argument_names(self, function: FunctionNode) -> set[str]:
        """Parameters that are tensors for all that is known."""
        known = self._arguments.get(function)
        if known is None:
            arguments = positional_parameters(function.args)[1:]
            known = {a.arg for a in arguments if self._may_be_tensor(a)}
            self._arguments[function] = known
        return known

    def _may_be_tensor(self, parameter: ast.arg) -> bool:
        kind = self._values.annotation(parameter.annotation).kind
        return kind in (Kind.TENSOR, Kind.UNKNOWN) and parameter.arg not in ("self", "cls")


def _is_scalar(call: ast.Call) -> bool:
    """A 0-dim tensor, which may meet any device in arithmetic."""
    name = last_name(call.func)
    if name in ("tensor", "as_tensor", "scalar_tensor") and call.args:
        return not isinstance(call.args[0], ast.List | ast.Tuple | ast.ListComp)
    if name in ("zeros", "ones", "empty", "rand", "randn") and len(call.args) == 1:
        shape = call.args[0]
        return isinstance(shape, ast.Tuple | ast.List) and not shape.elts
    return not call.args and not call.keywords
