"""What lies in a list, tuple, set or dictionary of this file."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.names.flow import Flow
from mpslint.semantics.names.names import Binding, Names
from mpslint.semantics.names.type_arms import is_no_tensor
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import Index
from mpslint.semantics.terms.value import UNKNOWN, Kind, Value, join

if TYPE_CHECKING:
    from mpslint.semantics.values.values import Values

MAX_ELEMENTS = 8


def mapped(call: ast.Call) -> ast.expr | None:
    """`x.to(device)` of `map(lambda x: x.to(device), batch)`: what each element is made to be."""
    if not isinstance(call.func, ast.Name) or call.func.id != "map" or len(call.args) < 2:
        return None
    each = call.args[0]
    return each.body if isinstance(each, ast.Lambda) else None


class Sequences:
    """Elements of containers: of displays, of comprehensions, and what `append` adds to a name."""

    def __init__(self, values: Values, index: Index, names: Names, flow: Flow) -> None:
        self._values = values
        self._index = index
        self._names = names
        self._flow = flow
        self._busy: set[ast.AST] = set()

    def element(self, node: ast.expr) -> Value:
        """What every element of `node` is; UNKNOWN where they differ or nobody can tell."""
        if node in self._busy:
            return UNKNOWN
        self._busy.add(node)
        try:
            return self._element(node)
        finally:
            self._busy.discard(node)

    def item(self, node: ast.expr, key: ast.expr) -> Value:
        """`node[key]`, exactly where `node` is a dictionary written out with that key, or one in
        which the function itself stores it."""
        if isinstance(key, ast.Constant):
            for mapping in self._written(node):
                if not isinstance(mapping, ast.Dict):
                    break
                for name, value in zip(mapping.keys, mapping.values, strict=True):
                    if isinstance(name, ast.Constant) and name.value == key.value:
                        return self._values.of(value)
            stored = self.stored(node, key)
            if stored is not UNKNOWN:
                return stored
        return self.element(node)

    def stored(self, node: ast.expr, key: ast.expr) -> Value:
        """What the function itself stores under a key of a container that comes from out of sight
        (`state["v"] = ...`); UNKNOWN where any of it is brought to the CPU."""
        if not isinstance(node, ast.Name) or not isinstance(key, ast.Constant):
            return UNKNOWN
        function = self._index.function(node)
        found = [
            self._values.of(statement.value)
            for use in self._index.names.get(node.id, ())
            if isinstance(item := self._index.parents[use], ast.Subscript)
            and isinstance(item.ctx, ast.Store)
            and isinstance(item.slice, ast.Constant)
            and item.slice.value == key.value
            and isinstance(statement := self._index.parents[item], ast.Assign)
            and self._index.function(use) is function
        ]
        if not found or len(found) > MAX_ELEMENTS or any(value.on_cpu for value in found):
            return UNKNOWN
        return join(found)

    def moved_tensors(self, node: ast.expr) -> Value:
        """What the tensors of a dictionary are in which nothing else was moved: `{key: x.to(device)
        if isinstance(x, torch.Tensor) else x for key, x in batch.items()}`."""
        written = self._written(node)
        made = written[0] if len(written) == 1 else None
        each = made.value if isinstance(made, ast.DictComp) else None
        if not isinstance(each, ast.IfExp) or not isinstance(each.orelse, ast.Name):
            return UNKNOWN
        left = each.orelse
        if not is_no_tensor(self._index, self._names, left, self._flow.reaching(left)):
            return UNKNOWN
        return self._values.of(each.body)

    def _element(self, node: ast.expr) -> Value:
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            return self._joined(node.elts)
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            return self._values.of(node.elt)
        if isinstance(node, ast.DictComp):
            return self._values.of(node.value)
        if isinstance(node, ast.Dict):
            return self._joined(node.values)
        if isinstance(node, ast.Name):
            return self._of_name(node)
        if isinstance(node, ast.Call) and len(node.args) == 1:
            # `tuple(t.to(device) for t in batch)` holds what it is made of.
            if isinstance(node.func, ast.Name) and node.func.id in ("tuple", "list"):
                return self.element(node.args[0])
        if isinstance(node, ast.Call) and (each := mapped(node)) is not None:
            return self._values.of(each)
        return UNKNOWN

    def _joined(self, items: list[ast.expr]) -> Value:
        if not items or len(items) > MAX_ELEMENTS:
            return UNKNOWN
        return join([self._values.of(item) for item in items])

    def _written(self, node: ast.expr) -> list[ast.expr]:
        """The expressions that a name is assigned to before it is read at `node`."""
        if not isinstance(node, ast.Name):
            return [node]
        bindings = self._flow.reaching(node)
        return [b.value for b in bindings if b.kind in ("assign", "annotate") and b.value]

    def _of_name(self, node: ast.Name) -> Value:
        bindings = self._flow.reaching(node)
        if not bindings or any(b.kind not in ("assign", "annotate") for b in bindings):
            return UNKNOWN
        parts = [self._bound(binding) for binding in bindings]
        if any(part is None for part in parts):
            return UNKNOWN
        known = [part for part in parts if part is not None and part.kind is not Kind.OTHER]
        added = self._appended(node)
        if added is None:
            return UNKNOWN
        held = [*known, *added] or self._stored_under_keys(node)
        return join(held) if held else UNKNOWN

    def _stored_under_keys(self, node: ast.Name) -> list[Value]:
        """What the function of `node` stores in the dictionary, whatever the key: of one that is
        written with nothing in it that is all there is."""
        function = self._index.function(node)
        stores = [
            statement.value
            for use in self._index.names.get(node.id, ())
            if isinstance(item := self._index.parents[use], ast.Subscript)
            and item.value is use
            and isinstance(item.ctx, ast.Store)
            and isinstance(statement := self._index.parents[item], ast.Assign)
            and self._index.function(use) is function
            and self._may_be_same(node, use)
        ]
        return [self._values.of(value) for value in stores[:MAX_ELEMENTS]]

    def _bound(self, binding: Binding) -> Value | None:
        """The elements a binding starts with: OTHER for an empty list, None where unknown."""
        value = binding.value
        if value is None:
            return None
        if isinstance(value, ast.Call) and not value.args and not value.keywords:
            if last_name(value.func) in ("list", "dict", "set", "deque"):
                return Value(Kind.OTHER)
            return None
        if isinstance(value, ast.List | ast.Tuple) and not value.elts:
            return Value(Kind.OTHER)
        if isinstance(value, ast.Dict) and not value.keys:
            return Value(Kind.OTHER)
        if isinstance(value, ast.Name):
            return self.element(value)
        found = self.element(value)
        return found if found.kind is not Kind.UNKNOWN or found.devices is not None else None

    def _appended(self, node: ast.Name) -> list[Value] | None:
        """What `.append(x)` puts into the list; None where something else may fill it, or where
        its items are brought to the CPU one by one."""
        scope = self._names.owner(node.id, node)
        added: list[Value] = []
        if self._is_copied_in_place(node, scope):
            return None
        for method in ("append", "extend", "insert", "update", "setdefault"):
            for call in self._index.calls.get(method, ()):
                function = call.func
                if not (
                    isinstance(function, ast.Attribute)
                    and isinstance(function.value, ast.Name)
                    and function.value.id == node.id
                    and self._names.owner(node.id, function.value) is scope
                    and self._may_be_same(node, function.value)
                ):
                    continue
                if method != "append" or len(call.args) != 1:
                    return None
                added.append(self._values.of(call.args[0]))
        return added

    def _may_be_same(self, node: ast.Name, other: ast.Name) -> bool:
        """Whether two uses of a name may see the same list: `outs = [o.cpu() for o in outs]` makes
        another one than `outs.append(x)` has filled."""
        if self._index.function(node) is not self._index.function(other):
            return True
        seen = self._flow.reaching(other)
        return not seen or not set(seen).isdisjoint(self._flow.reaching(node))

    def _is_copied_in_place(self, node: ast.Name, scope: object) -> bool:
        """`xs[i] = xs[i].cpu()`"""
        for use in self._index.names.get(node.id, ()):
            item = self._index.parents[use]
            if not isinstance(item, ast.Subscript) or not isinstance(item.ctx, ast.Store):
                continue
            statement = self._index.parents[item]
            if isinstance(statement, ast.Assign) and self._names.owner(use.id, use) is scope:
                if self._values.of(statement.value).on_cpu:
                    return True
        return False
