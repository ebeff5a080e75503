"""The device names at hand: what already holds a selected device where code runs.

A name counts only where every assignment that may reach it gives it a device, and none of them
pins it to the CPU, to MPS or to a CUDA index above 0.
"""

from __future__ import annotations

import ast

from mpslint.facts.priors import names_device
from mpslint.records import NamedTuple
from mpslint.semantics.devices.gpu_numbers import number_beside, written
from mpslint.semantics.devices.result_devices import ResultDevices
from mpslint.semantics.names.flow import Flow
from mpslint.semantics.names.names import Binding, Names, Scope
from mpslint.semantics.names.set_by_then import is_set_by_then
from mpslint.semantics.syntax.index import COMPREHENSIONS, FUNCTIONS, SCOPE_NODES, Index
from mpslint.semantics.values.values import Kind, Value, Values


class DeviceName(NamedTuple):
    """An expression that holds a device where it is wanted."""

    text: str
    is_string: bool
    """It is a str, so `.type` may not be asked of it."""
    value: Value
    indexed: bool = False
    """It may name an index (`cuda:0`), which autocast does not take."""
    bindings: tuple[Binding, ...] = ()
    """What gives the name its value; empty for `self.device`."""
    attribute: ast.Attribute | None = None
    """`self.device` where the class assigns it."""


class DevicesAtHand:
    def __init__(self, index: Index, names: Names, flow: Flow, values: Values) -> None:
        self._index = index
        self._names = names
        self._flow = flow
        self._values = values
        self.results = ResultDevices(index)
        self._device_names: dict[Scope, list[str]] = {}
        """The names in a scope that may be those of devices, the likeliest first."""

    def at_hand(self, node: ast.AST) -> DeviceName | None:
        """A name or attribute that surely holds a selected device where `node` runs.

        Looked for in this order: `device` and its like in the function, `self.device`, the module.
        A device that is pinned to the CPU, to MPS or to a CUDA index above 0 does not count.
        """
        scope = self._names.scope_of(node)
        while scope.parent is not None:
            found = self._in_scope(scope, node)
            if found is not None:
                return found
            scope = scope.parent
        return self._of_self(node) or self._in_scope(scope, node)

    def _in_scope(self, scope: Scope, node: ast.AST) -> DeviceName | None:
        if isinstance(scope.node, ast.ClassDef):
            return None
        names = self._device_names.get(scope)
        if names is None:
            fitting = [n for n in scope.bindings if names_device(n) and n != "map_location"]
            names = sorted(fitting, key=lambda n: (n.lower() != "device", len(n)))
            self._device_names[scope] = names
        for name in names:
            if self._names.owner(name, node) is scope:
                found = self._device_named(name, node)
                if found is not None:
                    return found
        return None

    def _device_named(self, name: str, node: ast.AST) -> DeviceName | None:
        owner = self._names.owner(name, node)
        if owner is None:
            return None
        node = self._outside(node, owner, COMPREHENSIONS)
        bindings = self._flow.reaching_name(name, node)
        if not bindings:
            return None
        if isinstance(owner.node, ast.Module) and self._names.scope_of(node) is not owner:
            # Read from inside a function: every module-level binding may be the one.
            if any(self._conditional(b.node, node) for b in bindings):
                return None
            if not all(self._comes_first(binding.node, node) for binding in bindings):
                return None
        elif not self._flow.surely_bound(name, self._outside(node, owner, SCOPE_NODES)):
            return None
        if len(bindings) == 1 and none_by_default(bindings[0]):
            return None
        if any(one.kind == "parameter" for one in bindings):
            if self.results.takes(self._index.function(node), name):
                return None
        probe = ast.Name(id=name, ctx=ast.Load())
        parts = [self._values.bound(binding, probe) for binding in bindings]
        if any(part.kind not in (Kind.DEVICE, Kind.DEVICE_STRING) for part in parts):
            return None
        from mpslint.semantics.values.values import join

        value = join(parts)
        if not self._usable(value) or any(self._indexed(b.value) for b in bindings):
            return None
        indexed = any(b.value is not None and self._names_index(b.value) for b in bindings)
        return DeviceName(name, value.kind is Kind.DEVICE_STRING, value, indexed, bindings)

    def _outside(self, node: ast.AST, owner: Scope, kinds: tuple[type[ast.AST], ...]) -> ast.AST:
        """The scopes of these kinds around `node`, up to the one that `owner` runs itself."""
        scope = self._names.scope_of(node)
        while scope is not owner and isinstance(scope.node, kinds):
            node, scope = scope.node, self._names.scope_of(scope.node)
        return node

    def _comes_first(self, binding: ast.AST, node: ast.AST) -> bool:
        """Whether no statement of the module can call the function around `node` before a
        module-level binding has run."""
        body = self._index.tree.body
        if not self._is_deferred(node):
            stop = self._index.statement(binding)
            top = next(item for item in body if self._index.within(stop, item))
            return top.lineno < node.lineno and not self._index.within(node, top)  # type: ignore[attr-defined]
        reached: set[str] = set()
        for parent in self._index.ancestors(node):
            if isinstance(parent, (*FUNCTIONS, ast.ClassDef)):
                reached = {parent.name}
        if not reached:
            return False
        definitions = [item for item in body if isinstance(item, (*FUNCTIONS, ast.ClassDef))]
        for _ in range(4):
            reached |= {item.name for item in definitions if self._mentions(item, reached)}
        stop = self._index.statement(binding)
        for item in body:
            if self._index.within(stop, item):
                return True
            if not isinstance(item, (*FUNCTIONS, ast.ClassDef)) and self._mentions(item, reached):
                return False
        return True

    def _is_deferred(self, node: ast.AST) -> bool:
        """Whether a node is run when a function is called, rather than where it is defined, as
        defaults, decorators and the bodies of classes are."""
        child = node
        for parent in self._index.ancestors(node):
            if isinstance(parent, ast.Lambda) and child is parent.body:
                return True
            if isinstance(parent, FUNCTIONS) and child in parent.body:
                return True
            child = parent
        return False

    def _mentions(self, item: ast.AST, words: set[str]) -> bool:
        return any(
            self._index.within(use, item)
            for word in words
            for use in self._index.names.get(word, ())
        )

    def _conditional(self, statement: ast.AST, node: ast.AST) -> bool:
        """Bound only under `if __name__ == "__main__"` or the like: not there for importers, but
        for a function that is defined there further down."""
        around = [parent for parent in self._index.ancestors(node) if isinstance(parent, FUNCTIONS)]
        defined = around[-1].lineno if around else 0
        for parent in self._index.ancestors(statement):
            if isinstance(parent, ast.If) and not parent.orelse:
                if not self._index.within(node, parent) or statement.lineno >= defined:  # type: ignore[attr-defined]
                    return True
        return False

    def _usable(self, value: Value) -> bool:
        return value.devices is None or "cuda" in value.devices

    def _indexed(self, value: ast.expr | None) -> bool:
        return value is not None and any(
            one.ordinal or (one.number is not None and self._index.within(one.number, one.node))
            for one in written(self._index, self._names, value)
        )

    def _names_index(self, value: ast.expr) -> bool:
        for item in ast.walk(value):
            if isinstance(item, ast.Constant) and isinstance(item.value, str) and ":" in item.value:
                return True
            if number_beside(self._names, item) is not None:
                return True
        return False

    def _of_self(self, node: ast.AST) -> DeviceName | None:
        function = self._index.function(node)
        if function is None or not function.args.args or function.args.args[0].arg != "self":
            return None
        klass = self._index.parents.get(function)
        if not isinstance(klass, ast.ClassDef) or function.name == "__init__":
            return None
        for call_target in self._index.attributes.get("device", ()):
            if (
                isinstance(call_target.ctx, ast.Store)
                and isinstance(call_target.value, ast.Name)
                and call_target.value.id == "self"
                and self._index.enclosing(call_target, ast.ClassDef) is klass
            ):
                value = self._values.of(ast.copy_location(call_target, call_target))
                if not is_set_by_then(self._index, klass, "device", node):
                    return None
                if value.kind in (Kind.DEVICE, Kind.DEVICE_STRING) and self._usable(value):
                    is_string = value.kind is Kind.DEVICE_STRING
                    return DeviceName("self.device", is_string, value, attribute=call_target)
        return None


def none_by_default(binding: Binding) -> bool:
    """A parameter that is None unless the caller says otherwise: no device yet."""
    value = binding.value
    return binding.kind == "parameter" and isinstance(value, ast.Constant) and value.value is None
