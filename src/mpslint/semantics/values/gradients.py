"""Names that `backward()` is called on, scaled or not: only a tensor can go back through the graph.
So can what a helper is given to do so (`accelerator.backward(loss)`).

Where a loss comes from a function out of sight, or is summed up in a loop from the losses of a
dictionary, nothing at its right side says what it is. What is done with it does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from mpslint.semantics.names.flow import Flow
from mpslint.semantics.names.names import Binding, Names
from mpslint.semantics.syntax.index import Index
from mpslint.semantics.terms.value_tables import NUMBER_METHODS, TENSOR_METHODS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_OF_TENSORS = (
    TENSOR_METHODS
    | NUMBER_METHODS
    | {"shape", "dtype", "device", "grad_fn", "requires_grad", "retain_grad", "is_cuda", "is_mps"}
)
_READ = frozenset({"item", "detach"})
_OF_TENSORS_BACKWARD = frozenset({"gradient", "retain_graph", "create_graph", "inputs"})
_FROM_EXPRESSIONS = frozenset({"assign", "annotate", "walrus", "augment", "unpack", "parameter"})
_KNOWN = "gradients"
_NAMES_FOLLOWED = 2
"""`loss = part`, and `part = one + other`: more is not seen in real code."""


class Gradients:
    def __init__(self, index: Index, names: Names, flow: Flow) -> None:
        self._index = index
        self._names = names
        self._flow = flow

    def goes_back(self, binding: Binding) -> bool:
        """Whether what `binding` gives its name is what `backward()` is called on later."""
        return binding.kind in _FROM_EXPRESSIONS and binding in self._bindings

    def item_goes_back(self, item: ast.Subscript) -> bool:
        """Whether `losses["all"]` is what `backward()` is called on somewhere else; so are they all
        for whom a key is chosen as the program runs (`losses[name]`)."""
        table, key = item.value, item.slice
        if not isinstance(table, ast.Name):
            return False
        return any(
            isinstance(other.value, ast.Name)
            and other.value.id == table.id
            and (not isinstance(key, ast.Constant) or ast.dump(other.slice) == ast.dump(key))
            and not set(self._flow.reaching(table)).isdisjoint(self._flow.reaching(other.value))
            for other in self._items
        )

    @cached_property
    def _items(self) -> list[ast.Subscript]:
        """What stands under a key and goes back."""
        bases = [
            _scaled(call.func.value)
            for call in self._index.calls.get("backward", ())
            if isinstance(call.func, ast.Attribute) and _is_of_tensors(call)
        ]
        return [base for base in bases if isinstance(base, ast.Subscript)]

    @cached_property
    def _bindings(self) -> set[Binding]:
        found: set[Binding] = set()
        for call in self._index.calls.get("backward", ()):
            base = call.func.value if isinstance(call.func, ast.Attribute) else None
            if base is None:
                continue
            if not _is_of_tensors(call):
                found.update(self._handed_back(call))
                continue
            name = _scaled(base)
            if isinstance(name, ast.Name) and self._has_tensors_uses_only(name):
                reaching = self._flow.reaching(name)
                found.update(reaching)
                found.update(self._only_summand(reaching))
        found.update(self._read_beside(found))
        return found

    def _handed_back(self, call: ast.Call) -> tuple[Binding, ...]:
        """What gives `loss` its value of `accelerator.backward(loss)`, where the function reads it
        as a tensor is read besides: a network of somebody's own is given arrays."""
        loss = _scaled(call.args[0]) if call.args else None
        if not isinstance(loss, ast.Name) or not self._has_tensors_uses_only(loss):
            return ()
        return self._flow.reaching(loss) if self._is_read(loss) else ()

    def _is_read(self, name: ast.Name) -> bool:
        """Whether somebody reads what is named so as a tensor is read."""
        scope = self._names.owner(name.id, name)
        return any(
            isinstance(parent := self._index.parents[use], ast.Attribute)
            and parent.attr in _READ
            and self._names.owner(use.id, use) is scope
            for use in self._index.names.get(name.id, ())
        )

    def _read_beside(self, losses: set[Binding]) -> set[Binding]:
        """What is read as a tensor and has a part in what goes back, or comes with it from one
        call: `loss = error + 0.1 * penalty`, `loss, (error, penalty) = model(x)`."""
        found: set[Binding] = set()
        new = set(losses)
        for _ in range(_NAMES_FOLLOWED):
            new = {
                item
                for part in self._parts_of(new)
                if self._is_read(part)
                for item in self._flow.reaching(part)
            }
            new -= found
            found |= new
        calls = {item.node for item in losses if _is_unpacked_call(item)}
        for read in self._index.calls.get("item", ()) if calls else ():
            name = _read_from(read)
            if name is not None and self._has_tensors_uses_only(name):
                found.update(item for item in self._flow.reaching(name) if item.node in calls)
        return found

    @cached_property
    def summands(self) -> frozenset[Binding]:
        """What gives the parts their values of which sums are made that go back."""
        found: set[Binding] = set()
        new = set(self._bindings)
        for _ in range(_NAMES_FOLLOWED):
            new = {item for part in self._parts_of(new) for item in self._flow.reaching(part)}
            new -= found
            found |= new
        return frozenset(found)

    def _parts_of(self, losses: set[Binding]) -> Iterator[ast.Name]:
        for binding in losses:
            for part in _summands(binding):
                if self._has_tensors_uses_only(part):
                    yield part

    def _only_summand(self, reaching: tuple[Binding, ...]) -> tuple[Binding, ...]:
        """What gives the one thing its value that is added to a number (`total = 0.`, and then
        `total += part`): where the sum goes back, that is a tensor."""
        added = [binding for binding in reaching if binding.kind == "augment"]
        numbers = all(
            isinstance(binding.value, ast.Constant) for binding in reaching if binding not in added
        )
        if len(added) != 1 or len(reaching) < 2 or not numbers:
            return ()
        statement = added[0].node
        if not isinstance(statement, ast.AugAssign) or not isinstance(statement.op, ast.Add):
            return ()
        part = statement.value
        if not isinstance(part, ast.Name) or not self._has_tensors_uses_only(part):
            return ()
        return self._flow.reaching(part)

    def _has_tensors_uses_only(self, name: ast.Name) -> bool:
        """Nobody calls it, or asks it for what a tensor has not: a network of somebody's own may
        have a `backward`, too."""
        scope = self._names.owner(name.id, name)
        for use in self._index.names.get(name.id, ()):
            parent = self._index.parents[use]
            called = isinstance(parent, ast.Call) and parent.func is use
            of_others = isinstance(parent, ast.Attribute) and parent.attr not in _OF_TENSORS
            if (called or of_others) and self._names.owner(use.id, use) is scope:
                return False
        return True


def gradients_of(context: Context) -> Gradients:
    known = context.memo.get(_KNOWN)
    if not isinstance(known, Gradients):
        known = context.memo[_KNOWN] = Gradients(context.index, context.names, context.flow)
    return known


def _is_of_tensors(call: ast.Call) -> bool:
    """`loss.backward()`; what is handed on by position is a gradient or another's loss."""
    return not call.args and all(item.arg in _OF_TENSORS_BACKWARD for item in call.keywords)


def _scaled(node: ast.expr) -> ast.expr:
    """`loss` of `scaler.scale(loss / steps)`: what a scaler takes, and what is divided for the
    steps over which gradients are summed up, is the tensor that goes back."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "scale" and len(node.args) == 1 and not node.keywords:
            node = node.args[0]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return node.left
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        sides = (node.left, node.right)
        others = [side for side in sides if not isinstance(side, ast.Constant)]
        return others[0] if len(others) == 1 else node
    return node


def _summands(binding: Binding) -> Iterator[ast.Name]:
    """The names of what a sum is made of, each in other numbers or as it is; of another name for
    something, that name."""
    if binding.kind in ("assign", "augment") and binding.value is not None:
        yield from _parts(binding.value)


def _parts(node: ast.expr) -> Iterator[ast.Name]:
    if isinstance(node, ast.Name):
        yield node
    elif isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
            yield from _parts(node.left)
            yield from _parts(node.right)
        elif isinstance(node.op, ast.Div):
            yield from _parts(node.left)


def _is_unpacked_call(binding: Binding) -> bool:
    return binding.kind == "unpack" and isinstance(binding.value, ast.Call)


def _read_from(read: ast.Call) -> ast.Name | None:
    """`commit` of `commit.item()` and of `commit.sum().item()`."""
    node: ast.expr = read
    while isinstance(node, ast.Call | ast.Attribute):
        if isinstance(node, ast.Call) and node.args:
            return None
        node = node.func if isinstance(node, ast.Call) else node.value
    return node if isinstance(node, ast.Name) else None
