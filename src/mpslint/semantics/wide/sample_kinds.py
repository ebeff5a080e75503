"""What the data sets of a file hand out, part by part: whether a batch of it may be float64."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from mpslint.facts import batches
from mpslint.facts.python_numbers import CONSTANTS
from mpslint.semantics.syntax.expressions import keyword
from mpslint.semantics.syntax.index import FUNCTIONS, walk
from mpslint.semantics.syntax.methods import method_of
from mpslint.semantics.syntax.parameters import explicit_parameters
from mpslint.semantics.wide.bound_names import (
    APPENDED,
    EACH,
    STORED,
    Binding,
    before,
    bindings_of,
)
from mpslint.semantics.wide.class_parts import (
    Function,
    annotated,
    imported_names,
    inherited,
    is_static,
    item,
    parameters,
    parts_named,
    qualified,
    spread,
    told_parts,
)
from mpslint.semantics.wide.kept_returns import KeptReturns
from mpslint.semantics.wide.sample_calls import (
    call_of_builtin,
    call_of_method,
    called,
    imported,
)
from mpslint.semantics.wide.sample_scopes import Scope
from mpslint.semantics.wide.sample_values import (
    ANY,
    ARRAYS,
    INTEGERS,
    NARROW,
    PLAIN,
    WHOLE,
    WIDE,
    Many,
    Row,
    Table,
    Value,
    all_together,
    computed,
    each,
    part,
    together,
    worst,
)

Key = tuple[int, int] | str
"""A part of an item: of a tuple of so many the one at a place, of a dictionary that of a key."""
_HANDING = ("__getitem__", "__getitems__", "__iter__")
_DEPTH = 24
_FEW = 3
_LAST = 1 << 30


class SampleKinds:
    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._functions = {one.name: one for one in tree.body if isinstance(one, FUNCTIONS)}
        self._classes = {one.name: one for one in walk(tree) if isinstance(one, ast.ClassDef)}
        self._modules = imported_names(tree)
        self._named: dict[str, frozenset[str]] = {}
        """By class what its objects have."""
        self._busy: set[tuple[int, str, int]] = set()
        self._returns = KeptReturns(self._busy, _DEPTH)
        self._known: dict[tuple[int, str], Value | None] = {}
        self._depth = 0
        self._cut = 0
        """How often something was asked about that was being answered: what came of that is not
        kept."""
        self.top = self._scope(tree, None)

    def handed_out(self) -> dict[str, dict[Key, str]]:
        """By data set the parts of an item that may be float64 in a batch, each with its kind."""
        found: dict[str, dict[Key, str]] = {}
        for klass in self._classes.values():
            kinds = dict(self._parts_of(klass))
            if kinds:
                found[klass.name] = kinds
        return found

    def returned(self, name: str) -> Value | None:
        """What the functions and methods of a name give, to whoever calls them from elsewhere."""
        found = [self._returned(self._functions[name], None, {})] if name in self._functions else []
        for klass in self._classes.values():
            method = method_of(klass, name)
            if method is not None:
                found.append(self._returned(method, klass, {}))
        return all_together(found)

    def _parts_of(self, klass: ast.ClassDef) -> Iterator[tuple[Key, str]]:
        method = next((one for name in _HANDING if (one := method_of(klass, name))), None)
        if method is None:
            return
        told = told_parts(method.returns)
        scope = self._scope(method, klass, dict.fromkeys(parameters(method)[1:2], WHOLE))
        handed: Value | None = None
        for node in walk(method):
            if isinstance(node, ast.Return | ast.Yield) and node.value is not None:
                handed = together(handed, self.value(node.value, scope, node.lineno))
        if isinstance(handed, Row):
            for at, value in enumerate(handed.parts):
                kind = worst(value)
                if kind == ANY and told is not None and len(told) == len(handed.parts):
                    kind = told[at] or kind
                yield (len(handed.parts), at), kind
        elif isinstance(handed, Table):
            yield from ((key, worst(value)) for key, value in handed.keys.items() if key)

    # scopes

    def _scope(
        self,
        function: Function | ast.Module | ast.ClassDef,
        klass: ast.ClassDef | None,
        given: dict[str, Value | None] | None = None,
    ) -> Scope:
        return Scope(function, klass, bindings_of(function, self._tree), given or {})

    def _bound(self, binding: Binding, scope: Scope) -> Value | None:
        value = self.value(binding.value, scope, binding.row)
        for step in binding.steps:
            if isinstance(step, int):
                value = part(value, step)
            elif step == EACH:
                value = each(value)
            elif step == APPENDED:
                value = Many(value)
            elif step == STORED:
                value = Table({binding.key: value if value is not None else ANY})
        return value

    def _put_together(self, some: Iterable[Binding], scope: Scope) -> Value | None:
        found: Value | None = None
        for one in some:
            value = self._bound(one, scope)
            if one.is_sure and STORED in one.steps and isinstance(found, Table):
                assert isinstance(value, Table)
                found = Table({**found.keys, **value.keys})
            elif found in ARRAYS and {APPENDED, STORED} & {*one.steps}:
                pass  # What is put into an array becomes of its dtype.
            else:
                found = together(found, value)
        return found

    def _name(self, name: str, scope: Scope, row: int) -> Value | None:
        if name in scope.local:
            return scope.local[name]
        outer = scope.outer
        if (name, row) in outer.known:
            return outer.known[name, row]
        key = (id(scope.function), name, row)
        if key in self._busy:
            self._cut += 1
            return None
        self._returns.enter(key)
        cut = self._cut
        try:
            found = self._bound_to(name, outer, row)
        finally:
            self._busy.discard(key)
        if cut == self._cut:
            outer.known[name, row] = found
        return found

    def _bound_to(self, name: str, scope: Scope, row: int) -> Value | None:
        some = before(scope.bindings.get(name, []), row)
        found = self._put_together(some, scope) if some else None
        if any(one.is_sure for one in some):
            return found
        if isinstance(scope.function, FUNCTIONS):
            if name in parameters(scope.function):
                return together(found, self._parameter(name, scope))
            if not some:
                return self._name(name, self.top, _LAST)
        return found if some else ANY

    def _parameter(self, name: str, scope: Scope) -> Value | None:
        assert isinstance(scope.function, FUNCTIONS)
        if name in scope.given:
            return scope.given[name]
        arguments = scope.function.args
        for one in explicit_parameters(arguments):
            if one.arg == name:
                return annotated(one.annotation) or ANY
        return ANY

    def _own(self, name: str, klass: ast.ClassDef) -> Value | None:
        """What an attribute of the objects of a class is."""
        known = (id(klass), name)
        if known in self._known:
            return self._known[known]
        key = (id(klass), name, -1)
        if key in self._busy:
            self._cut += 1
            return None
        self._returns.enter(key)
        cut = self._cut
        try:
            found = self._attribute_of(name, klass)
        finally:
            self._busy.discard(key)
        if cut == self._cut:
            self._known[known] = found
        return found

    def _attribute_of(self, name: str, klass: ast.ClassDef) -> Value | None:
        method = method_of(klass, name)
        if method is not None:
            return self._returned(method, klass, {}) if method.decorator_list else ANY
        found: Value | None = None
        is_there = False
        for one in klass.body:
            if not isinstance(one, FUNCTIONS):
                continue
            scope = self._scope(one, klass)
            some = scope.bindings.get(f"{parameters(one)[0]}.{name}") if parameters(one) else None
            if some:
                is_there = True
                found = together(found, self._put_together(some, scope))
        above = self._scope(klass, klass)
        some = [one for one in above.bindings.get(name, ()) if one.is_sure]
        if some:
            is_there = True
            found = together(found, self._put_together(some, above))
        for one in klass.body:
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                told = annotated(one.annotation) if one.target.id == name else None
                if told is not None:
                    return told
        if is_there:
            return found
        for base in klass.bases:
            spelled = ast.unparse(base)
            if spelled in self._classes and self._classes[spelled] is not klass:
                return self._own(name, self._classes[spelled])
            if self._qualified(base).startswith("torchvision.") and name in batches.LABELS:
                return WHOLE
        return ANY

    def _returned(
        self, function: Function, klass: ast.ClassDef | None, given: dict[str, Value | None]
    ) -> Value | None:
        key = (id(function), "", 0)
        if key in self._busy or self._depth > _DEPTH:
            self._cut += 1
            return None
        asked = id(function), id(klass), tuple(given.items())
        return self._returns.of(
            asked, self._depth, lambda: self._cut, lambda: self._given_back(function, klass, given)
        )

    def _given_back(
        self, function: Function, klass: ast.ClassDef | None, given: dict[str, Value | None]
    ) -> Value | None:
        key = (id(function), "", 0)
        self._returns.enter(key)
        try:
            scope = self._scope(function, klass, given)
            found: Value | None = None
            for node in walk(function):
                if isinstance(node, ast.Return) and node.value is not None:
                    found = together(found, self.value(node.value, scope, node.lineno))
                elif isinstance(node, ast.Yield) and node.value is not None:
                    value = self.value(node.value, scope, node.lineno)
                    found = together(found, Many(value))
        finally:
            self._busy.discard(key)
        if worst(found) == ANY and function.returns is not None:
            return annotated(function.returns) or found
        return found

    # expressions

    def value(self, node: ast.expr, scope: Scope, row: int) -> Value | None:
        """What an expression gives in a row; None: nothing that a batch is made of."""
        self._depth += 1
        try:
            is_near = self._returns.reach(self._depth)
            return self._value(node, scope, row) if is_near else ANY
        finally:
            self._depth -= 1

    def _value(self, node: ast.expr, scope: Scope, row: int) -> Value | None:
        def of(one: ast.expr) -> Value | None:
            return self.value(one, scope, row)

        if isinstance(node, ast.Constant):
            if node.value is None:
                return None
            return PLAIN if isinstance(node.value, float) else WHOLE
        if isinstance(node, ast.Name):
            return self._name(node.id, scope, row)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, scope, row)
        if isinstance(node, ast.Tuple | ast.List):
            if any(isinstance(one, ast.Starred) for one in node.elts):
                return Many(all_together(map(of, node.elts)))
            if isinstance(node, ast.List) and len(node.elts) != 1:
                values = [of(one) for one in node.elts]
                return Row(tuple(one or NARROW for one in values)) if values else Many(None)
            return Row(tuple(of(one) or NARROW for one in node.elts))
        if isinstance(node, ast.Dict):
            return self._table(node, of)
        if isinstance(node, ast.Starred):
            return each(of(node.value))
        if isinstance(node, ast.IfExp):
            return together(of(node.body), of(node.orelse))
        if isinstance(node, ast.BoolOp):
            return all_together(map(of, node.values))
        if isinstance(node, ast.UnaryOp):
            return WHOLE if isinstance(node.op, ast.Not) else of(node.operand)
        if isinstance(node, ast.Compare):
            kinds = {worst(of(one)) for one in (node.left, *node.comparators)}
            return WHOLE if kinds.isdisjoint((WIDE, INTEGERS)) else INTEGERS
        if isinstance(node, ast.JoinedStr):
            return WHOLE
        if isinstance(node, ast.BinOp):
            return self._computed(node, of)
        if isinstance(node, ast.NamedExpr | ast.Await):
            return of(node.value)
        if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp):
            return Many(self.value(node.elt, self._comprehended(node, scope, row), row))
        if isinstance(node, ast.DictComp):
            return Many(self.value(node.value, self._comprehended(node, scope, row), row))
        if isinstance(node, ast.Subscript):
            return item(of(node.value), node.slice)
        return self._call(node, scope, row) if isinstance(node, ast.Call) else ANY

    def _computed(self, node: ast.BinOp, of: Callable[[ast.expr], Value | None]) -> Value | None:
        left, right = of(node.left), of(node.right)
        if isinstance(node.left, ast.Constant) and isinstance(node.left.value, str):
            return WHOLE
        if isinstance(left, Many | Row) and isinstance(node.op, ast.Add | ast.Mult):
            other = right if isinstance(node.op, ast.Add) else None
            return together(Many(each(left)), Many(each(other)) if other is not None else None)
        return computed(node.op, worst(left), worst(right))

    def _table(self, node: ast.Dict, of: Callable[[ast.expr], Value | None]) -> Value:
        keys = [one.value if isinstance(one, ast.Constant) else None for one in node.keys]
        values = [of(one) for one in node.values]
        if all(isinstance(one, str) for one in keys):
            pairs = zip(map(str, keys), values, strict=True)
            return Table({key: value or NARROW for key, value in pairs})
        return Many(all_together(values))

    def _comprehended(
        self,
        node: ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp,
        scope: Scope,
        row: int,
    ) -> Scope:
        for one in node.generators:
            found = each(self.value(one.iter, scope, row))
            scope = scope.within(dict(spread(one.target, found)))
        return scope

    def _attribute(self, node: ast.Attribute, scope: Scope, row: int) -> Value | None:
        name = node.attr
        if scope.klass is not None and isinstance(node.value, ast.Name):
            if isinstance(scope.function, FUNCTIONS):
                own = parameters(scope.function)[:1]
                if node.value.id in own or node.value.id == scope.klass.name:
                    return self._own(name, scope.klass)
        if self._qualified(node) in CONSTANTS:
            return PLAIN
        if name in ("shape", "size"):
            return Many(WHOLE)
        if name == "ndim":
            return WHOLE
        value = self.value(node.value, scope, row)
        if name in batches.ARRAY_SHAPING:
            return value
        if isinstance(value, Table):
            return value.keys.get(name, ANY)
        told = [self._own(name, klass) for klass in self._having(name, scope)]
        return all_together(told) if told else ANY

    def _having(self, name: str, scope: Scope) -> list[ast.ClassDef]:
        """The other classes of the file of which an object may be that is asked for a name."""
        if not self._named:
            self._named = {key: parts_named(one) for key, one in self._classes.items()}
        every = (one for key, one in self._classes.items() if name in self._named[key])
        return [one for one in every if one is not scope.klass]

    def _qualified(self, node: ast.expr) -> str:
        """The name of what is imported, with its package's own name."""
        return qualified(node, self._modules)

    def _call(self, node: ast.Call, scope: Scope, row: int) -> Value | None:
        def of(one: ast.expr) -> Value | None:
            return self.value(one, scope, row)

        function = node.func
        if keyword(node, "return_tensors") is not None:
            return NARROW
        if spelled := self._qualified(function):
            return imported(spelled, node, of)
        if isinstance(function, ast.Name):
            own = self._functions.get(function.id)
            if own is not None:
                return self._returned(own, None, self._arguments(own, node, of, 0))
            if function.id in self._classes:
                return self._made(self._classes[function.id], node, of)
            named = self._named_function(function.id, scope, row)
            if isinstance(named, ast.Lambda):
                names = (one.arg for one in named.args.args)
                given = dict(zip(names, map(of, node.args), strict=False))
                return self.value(named.body, scope.within(given), row)
            if named is not None:
                every = [*named.args[1:], *node.args], [*named.keywords, *node.keywords]
                return of(ast.copy_location(ast.Call(named.args[0], *every), node))
            made = call_of_builtin(function.id, node, of)
            return made if made != ANY else called(of(function), map(of, node.args))
        if not isinstance(function, ast.Attribute):
            return called(of(function), map(of, node.args))
        holder = function.value
        if scope.klass is not None and isinstance(scope.function, FUNCTIONS):
            is_own = isinstance(holder, ast.Name) and holder.id in (
                *parameters(scope.function)[:1],
                scope.klass.name,
            )
            above = ast.unparse(holder) == "super()"
            name = function.attr if is_own or above else ""
            method = inherited(self._classes, scope.klass, name, above=above)
            if method is not None:
                skipped = 0 if is_static(method) else 1
                return self._returned(
                    method, scope.klass, self._arguments(method, node, of, skipped)
                )
            if is_own:
                maker = self._own(function.attr, scope.klass)
                return called(maker, map(of, node.args))
        if ast.unparse(holder) == "super()":
            return ANY
        value = of(holder)
        found = call_of_method(function.attr, value, node, of)
        others = self._having(function.attr, scope) if value == found == ANY else []
        methods = [(one, klass) for klass in others if (one := method_of(klass, function.attr))]
        if not 0 < len(methods) <= _FEW:
            return found
        values = [
            self._returned(one, klass, self._arguments(one, node, of, 0 if is_static(one) else 1))
            for one, klass in methods
        ]
        return all_together(values)

    def _named_function(self, name: str, scope: Scope, row: int) -> ast.Lambda | ast.Call | None:
        """The one lambda that a name stands for, or `functools.partial` with what it is given."""
        some = before(scope.bindings.get(name, []), row)
        some = some or before(self.top.bindings.get(name, []), _LAST)
        value = some[0].value if len(some) == 1 and not some[0].steps else None
        if isinstance(value, ast.Call) and value.args:
            return value if self._qualified(value.func) == "functools.partial" else None
        return value if isinstance(value, ast.Lambda) else None

    def _made(
        self, klass: ast.ClassDef, node: ast.Call, of: Callable[[ast.expr], Value | None]
    ) -> Value:
        """An object of a class whose fields are as they were given, else anything."""
        fields = [
            one.target.id
            for one in klass.body
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
        ]
        if not fields or method_of(klass, "__init__") is not None:
            return ANY
        given = dict(zip(fields, map(of, node.args), strict=False))
        given |= {one.arg: of(one.value) for one in node.keywords if one.arg is not None}
        methods = [one.name for one in klass.body if isinstance(one, FUNCTIONS)]
        told = {name: self._own(name, klass) or ANY for name in (*fields, *methods)}
        return Table({name: given.get(name) or kind for name, kind in told.items()})

    def _arguments(
        self,
        function: Function,
        node: ast.Call,
        of: Callable[[ast.expr], Value | None],
        skipped: int,
    ) -> dict[str, Value | None]:
        if any(isinstance(one, ast.Starred) for one in node.args):
            return {}
        names = parameters(function)[skipped:]
        given = dict(zip(names, map(of, node.args), strict=False))
        return given | {one.arg: of(one.value) for one in node.keywords if one.arg is not None}
