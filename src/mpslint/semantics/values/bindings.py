"""What a binding gives its name: right sides, parts of tuples, elements, parameters."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.facts.priors import matches
from mpslint.semantics.names.flow import Flow
from mpslint.semantics.names.names import Binding, Names
from mpslint.semantics.names.private_calls import given_by_all
from mpslint.semantics.syntax.expressions import keyword, last_name, names_in
from mpslint.semantics.syntax.index import Index
from mpslint.semantics.terms.value import (
    CPU_ONLY,
    NDARRAY,
    NUMBER,
    UNKNOWN,
    Kind,
    Value,
    arithmetic,
    join,
)
from mpslint.semantics.values.gradients import Gradients
from mpslint.semantics.values.returns import Returns

if TYPE_CHECKING:
    from mpslint.semantics.elsewhere.imported import Imported
    from mpslint.semantics.values.values import Values


_TURNS = 3
"""A device that comes in with the last statement of a loop is at its first one in the second turn,
and behind it in the third."""
_BARS = frozenset({"tqdm", "track", "progress_bar", "trange"}) | frozenset(
    f"tqdm{part}.{name}"
    for part in ("", ".auto", ".notebook", ".std")
    for name in ("tqdm", "trange")
)
"""What shows how far a loop has come, and hands on what it is given."""
_MOST_SUMS = 32
"""Of so many that build on one another each is compared with each, three times. Real losses are
put together from up to a dozen."""


class BoundValues:
    """Values of names by the way they are bound."""

    def __init__(
        self,
        values: Values,
        index: Index,
        names: Names,
        flow: Flow,
        told: Imported | None = None,
    ) -> None:
        self._values = values
        self._told = told
        self._index = index
        self._names = names
        self._flow = flow
        self._gradients = Gradients(index, names, flow)
        self._returns = Returns(index, names)
        self._asked: set[ast.AST] = set()
        """Parameters of which callers are asked: who calls himself says nothing new."""
        self._augments: dict[ast.AugAssign, Value] = {}
        self._augmenting: set[ast.AugAssign] = set()
        self._reaching: dict[ast.AugAssign, list[Binding]] = {}

    def bound(self, binding: Binding, name: ast.Name) -> Value:
        value = self._given(binding, name)
        if value.kind is Kind.UNKNOWN and self._gradients.goes_back(binding):
            return Value(Kind.TENSOR, value.devices, loss=True, computed=True, by_use=True)
        if value.kind is Kind.TENSOR and value.devices is None and not value.computed:
            if not value.loss and self._gradients.goes_back(binding):  # An annotation says no more.
                return value._replace(loss=True, computed=True, by_use=True)
        return value

    def item_by_use(self, item: ast.Subscript) -> Value:
        """What is done with the items of a table says of one that nothing else tells of."""
        if not self._gradients.item_goes_back(item):
            return UNKNOWN
        return Value(Kind.TENSOR, None, loss=True, computed=True, by_use=True)

    def _given(self, binding: Binding, name: ast.Name) -> Value:
        if binding.kind in ("assign", "annotate", "walrus"):
            return self._values.of(binding.value)
        if binding.kind == "augment":
            return self._augmented(binding)
        if binding.kind == "unpack":
            return self._unpacked(binding, name)
        if binding.kind == "for":
            return self._element(binding, name)
        if binding.kind == "parameter":
            return self._on_host(binding, self._parameter(binding))
        if binding.kind == "with":
            return self._values.of(binding.value)
        if binding.kind == "class":
            return Value(Kind.CLASS)
        return UNKNOWN

    def moved_parts(self, name: ast.Name, bindings: tuple[Binding, ...]) -> Value | None:
        """What the loop that draws a batch has made of its parts before `name` is read: `for key in
        batch: batch[key] = batch[key].to(device)` puts all of them there; where only some may have
        been moved, nobody can tell where a part is. None: none was moved."""
        if any(binding.kind != "for" for binding in bindings):
            return None
        moved: Value | None = None
        for use in self._index.names.get(name.id, ()):
            part = self._index.parents[use]
            if not isinstance(part, ast.Subscript) or not isinstance(part.ctx, ast.Store):
                continue
            statement = self._index.parents[part]
            if not isinstance(statement, ast.Assign) or statement.lineno >= name.lineno:
                continue
            if any(self._index.within(use, binding.node) for binding in bindings):
                stored = self._values.of(statement.value)
                if not stored.on_cpu:
                    if self._is_each_part(part, statement) and stored.devices is not None:
                        return Value(Kind.TENSOR, stored.devices)
                    moved = Value(Kind.TENSOR)
        return moved

    def _is_each_part(self, part: ast.Subscript, statement: ast.Assign) -> bool:
        """Whether a loop over the keys of a table stores this, whatever the key."""
        loop = self._index.parents[statement]
        if not isinstance(loop, ast.For) or not isinstance(part.slice, ast.Name):
            return False
        keys, table = loop.target, loop.iter
        if isinstance(table, ast.Call) and isinstance(table.func, ast.Attribute):
            if table.func.attr == "items" and isinstance(keys, ast.Tuple) and keys.elts:
                keys = keys.elts[0]
            table = table.func.value
        elif isinstance(table, ast.Call) and len(table.args) == 1:
            table = table.args[0]  # `for key in list(batch):`
        named = isinstance(keys, ast.Name) and keys.id == part.slice.id
        return named and ast.dump(table) == ast.dump(part.value).replace("Store()", "Load()")

    def _augmented(self, binding: Binding) -> Value:
        statement = binding.node
        assert isinstance(statement, ast.AugAssign)
        if statement in self._augmenting:
            return UNKNOWN
        known = self._augments.get(statement)
        if known is not None:
            return known
        group = self._augments_before(binding)
        if len(group) > _MOST_SUMS:
            return UNKNOWN
        within = bool(self._augmenting)
        self._augmenting.update(group)
        try:
            found = self._sums(group)
        finally:
            self._augmenting.difference_update(group)
        # What a cycle or the depth of the question has cut short may be wrong for another one.
        for one, value in found.items():
            if value is not UNKNOWN and not within:
                self._augments[one] = value
        return found[statement]

    def _augments_before(self, binding: Binding) -> dict[ast.AugAssign, list[Binding]]:
        """The augmented assignments that one builds on, itself among them, in the order of the
        source, each with the bindings of its name that reach it."""
        group: dict[ast.AugAssign, list[Binding]] = {}
        waiting = [binding]
        while waiting and len(group) <= _MOST_SUMS:
            one = waiting.pop()
            statement = one.node
            if statement in group:
                continue
            assert isinstance(statement, ast.AugAssign)
            group[statement] = self._before(one)
            waiting += [other for other in group[statement] if other.kind == "augment"]
        return dict(sorted(group.items(), key=lambda item: (item[0].lineno, item[0].col_offset)))

    def _before(self, binding: Binding) -> list[Binding]:
        """The other bindings of its name that reach an augmented assignment."""
        statement = binding.node
        assert isinstance(statement, ast.AugAssign)
        known = self._reaching.get(statement)
        if known is None:
            reaching: tuple[Binding, ...] = ()
            if isinstance(statement.target, ast.Name):
                reaching = self._flow.reaching_name(statement.target.id, statement)
            known = [other for other in reaching if other is not binding]
            self._reaching[statement] = known
        return known

    def _sums(self, group: dict[ast.AugAssign, list[Binding]]) -> dict[ast.AugAssign, Value]:
        """The values after augmented assignments that build on one another. In a loop each may be
        reached from each, so they are worked out together, turn by turn."""
        start: dict[ast.AugAssign, list[Value]] = {}
        added: dict[ast.AugAssign, Value] = {}
        for statement, before in group.items():
            others = [b for b in before if b.node not in group]
            start[statement] = (
                [self.bound(b, statement.target) for b in others]
                if isinstance(statement.target, ast.Name)
                else []
            )
            added[statement] = self._values.of(statement.value)
        found: dict[ast.AugAssign, Value] = {}
        for _ in range(_TURNS):
            last = dict(found)
            for statement, before in group.items():
                sums = [found[b.node] for b in before if b.node in found]
                left = join([*start[statement], *sums] or [UNKNOWN])
                found[statement] = arithmetic(left, added[statement])
            if found == last:
                break
        return found

    def _unpacked(self, binding: Binding, name: ast.Name) -> Value:
        value = binding.value
        statement = binding.node
        if isinstance(statement, ast.Assign) and isinstance(value, ast.Tuple | ast.List):
            for target in statement.targets:
                if isinstance(target, ast.Tuple | ast.List) and len(target.elts) == len(value.elts):
                    for place, item in zip(target.elts, value.elts, strict=True):
                        if isinstance(place, ast.Name) and place.id == name.id:
                            return self._values.of(item)
        part = self._part_of_call(statement, value, name)
        if part is not None:
            return part
        whole = self._values.of(value)
        if whole.kind in (Kind.TENSOR, Kind.SEQUENCE, Kind.NUMBER, Kind.NDARRAY):
            if whole.kind is Kind.SEQUENCE and value is not None:
                return self._values.element(value)
            return whole
        return UNKNOWN

    def _part_of_call(
        self, statement: ast.AST, value: ast.expr | None, name: ast.Name
    ) -> Value | None:
        """`b` of `a, b = f(x)`, where the function of this file returns as many in each place."""
        if not isinstance(statement, ast.Assign) or not isinstance(value, ast.Call):
            return None
        target = statement.targets[0]
        if not isinstance(target, ast.Tuple | ast.List):
            return None
        returned = self._returns.tuples(value, len(target.elts))
        for position, place in enumerate(target.elts):
            if isinstance(place, ast.Name) and place.id == name.id and returned:
                return join([self._values.of(items[position]) for items in returned])
        return None

    def _element(self, binding: Binding, name: ast.Name) -> Value:
        iterable = binding.value
        position: int | None = None
        if isinstance(binding.target, ast.Tuple | ast.List):
            for place, item in enumerate(binding.target.elts):
                if name.id in names_in(item):
                    position = place
        return self.drawn(
            iterable, position, nested=isinstance(binding.target, ast.Tuple | ast.List)
        )

    def drawn(self, iterable: ast.expr | None, position: int | None, nested: bool) -> Value:
        """One element of an iterable (its `position`-th part, where it is unpacked)."""
        iterable = self._shown_while_drawn(iterable)
        if isinstance(iterable, ast.Call):
            last = last_name(iterable.func)
            qualified = self._names.resolve(iterable.func) or last
            if qualified in ("range",):
                return NUMBER
            if qualified == "enumerate" and iterable.args:
                return NUMBER if position == 0 else self.drawn(iterable.args[0], None, True)
            if qualified == "zip":
                if position is not None and position < len(iterable.args):
                    return self.drawn(iterable.args[position], None, False)
                return UNKNOWN
            if qualified in _BARS or qualified in ("reversed", "iter"):
                if (qualified or "").endswith("trange"):
                    return NUMBER
                return self.drawn(iterable.args[0], position, nested) if iterable.args else UNKNOWN
            if last in ("items", "values", "keys"):
                return self._of_mapping(iterable, last, position)
        value = self._values.of(iterable)
        if value.kind is Kind.STREAMED or (
            value.kind is Kind.UNKNOWN and iterable is not None and self._loader_name(iterable)
        ):
            told = self._device_of_loader(iterable)
            plain = value.kind is Kind.STREAMED
            return Value(Kind.TENSOR, CPU_ONLY if told is None else told, drawn=not plain)
        if value.kind is Kind.TENSOR:
            return value
        if value.kind is Kind.NDARRAY:
            return NDARRAY
        if value.kind is Kind.SEQUENCE and iterable is not None and position is None:
            return UNKNOWN if self._is_mapping(iterable) else self._values.element(iterable)
        return UNKNOWN

    def _shown_while_drawn(self, iterable: ast.expr | None) -> ast.expr | None:
        """`tqdm(loader)` of `bar = tqdm(loader)`, and of `with tqdm(loader) as bar:`"""
        if isinstance(iterable, ast.Name):
            bindings = self._flow.reaching(iterable)
            made = bindings[0].value if len(bindings) == 1 else None
            if isinstance(made, ast.Call) and bindings[0].kind in ("assign", "with"):
                if (self._names.resolve(made.func) or last_name(made.func)) in _BARS:
                    return made
        return iterable

    def _is_mapping(self, node: ast.expr) -> bool:
        """A dictionary, of which a loop draws the keys."""
        if isinstance(node, ast.Name):
            bound = [binding.value for binding in self._flow.reaching(node)]
            return any(isinstance(item, ast.Dict | ast.DictComp) for item in bound)
        return isinstance(node, ast.Dict | ast.DictComp)

    def _of_mapping(self, call: ast.Call, method: str, position: int | None) -> Value:
        """`for k, v in batch.items()`: the value, where the dictionary is known."""
        if not isinstance(call.func, ast.Attribute):
            return UNKNOWN
        if (method == "items" and position == 1) or method == "values":
            base = self._values.of(call.func.value)
            if base.kind is Kind.SEQUENCE:
                return self._values.element(call.func.value)
            if base.kind is Kind.TENSOR and base.devices == CPU_ONLY and not base.computed:
                return base
        return UNKNOWN

    def _device_of_loader(self, node: ast.expr | None) -> frozenset[str] | None:
        """Where a loader hands its batches out that was told a device when it was made."""
        made = [node]
        if isinstance(node, ast.Name):
            made = [binding.value for binding in self._flow.reaching(node)]
        for call in made:
            given = keyword(call, "device") if isinstance(call, ast.Call) else None
            if given is not None:
                return self._values.device_types(given)
        return None

    def _loader_name(self, node: ast.expr) -> bool:
        return matches("loader-names", last_name(node))

    def _parameter(self, binding: Binding) -> Value:
        arg = binding.node
        assert isinstance(arg, ast.arg)
        annotated = self._values.annotation(arg.annotation)
        if annotated.kind is not Kind.UNKNOWN:
            if annotated.kind is Kind.STRING and binding.value is not None:
                default = self._values.of(binding.value)
                return (
                    Value(Kind.DEVICE_STRING) if default.kind is Kind.DEVICE_STRING else annotated
                )
            return annotated
        if binding.value is not None:
            default = self._values.of(binding.value)
            if default.kind in (Kind.DEVICE, Kind.DEVICE_STRING):
                return Value(default.kind)
            if default.kind in (Kind.NUMBER, Kind.FLAG, Kind.STRING):
                return default._replace(devices=None)
        if arg.arg in ("device", "dev"):
            return Value(Kind.DEVICE)
        if arg.arg == "self":
            return self._self_value(arg)
        return UNKNOWN

    def _on_host(self, binding: Binding, value: Value) -> Value:
        """What a parameter is: a tensor of the CPU where all calls of its function are seen and
        each gives one."""
        arg = binding.node
        if binding.value is not None or arg in self._asked or value.devices is not None:
            return value
        if value.kind not in (Kind.UNKNOWN, Kind.TENSOR):
            return value
        assert isinstance(arg, ast.arg)
        self._asked.add(arg)
        try:
            given = [self._values.of(x) for x in given_by_all(self._index, self._names, arg)]
        finally:
            self._asked.discard(arg)
        on_host = given and all(one.kind is Kind.TENSOR and one.on_cpu for one in given)
        return join(given) if on_host and not self._is_used_elsewhere(arg) else value

    def _is_used_elsewhere(self, parameter: ast.arg) -> bool:
        """Whether files beside this one use the function as well, private to all of them."""
        function = self._index.function(parameter)
        if function is None or self._told is None:
            return False
        of_module = isinstance(self._index.parents[function], ast.Module)
        return of_module and self._told.uses_beside(function.name)

    def _self_value(self, arg: ast.arg) -> Value:
        klass = self._index.enclosing(arg, ast.ClassDef)
        if klass is not None and self._values.is_module_class(klass):
            return Value(Kind.MODULE)
        return UNKNOWN
