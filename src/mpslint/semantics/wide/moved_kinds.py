"""What a file moves to a device as it is: the kind of each, by all that the file says of it. What a
function is given is what its calls in the file give it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from mpslint.facts.arrays import MEANS
from mpslint.records import NamedTuple
from mpslint.semantics.syntax.cuda_arms import cuda_arms
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import FUNCTIONS, walk
from mpslint.semantics.syntax.methods import method_of
from mpslint.semantics.wide.bound_names import Binding
from mpslint.semantics.wide.class_parts import is_static, parameters
from mpslint.semantics.wide.sample_kinds import SampleKinds
from mpslint.semantics.wide.sample_scopes import Scope
from mpslint.semantics.wide.sample_values import (
    ANY,
    PLAIN,
    WHOLE,
    WIDE,
    Value,
    all_together,
    each,
    worst,
)

Comprehension = ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp
_MAPPING = ("map", "starmap")


class Place(NamedTuple):
    """A call, with what it stands in."""

    call: ast.Call
    scope: Scope
    inside: tuple[Comprehension | ast.Lambda, ...]
    """The comprehensions and the lambdas around it, from the outermost on."""


class MovedKinds(SampleKinds):
    def __init__(self, tree: ast.Module, moved_by: Callable[[ast.Call], ast.expr | None]) -> None:
        """`moved_by` tells what a call takes to a device in its own dtype."""
        super().__init__(tree)
        self._moved_by = moved_by
        self._moves: list[tuple[ast.expr, Place]] = []
        self._calls: dict[str, list[Place]] = {}
        """By name the calls of it."""
        self._lambdas = {
            id(node.value): target.id
            for node in walk(tree)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        """What names are given, by which lambdas are called."""
        self._handed: dict[tuple[int, str], Value | None] = {}
        self._handing: set[tuple[int, str]] = set()
        """What is being looked for of these."""
        self._for_cuda = {
            row
            for node in walk(tree)
            if isinstance(node, ast.If)
            for is_cudas, arm in zip(cuda_arms(node.test), (node.body, node.orelse), strict=True)
            if is_cudas and arm
            for row in range(arm[0].lineno, (arm[-1].end_lineno or arm[-1].lineno) + 1)
        }
        """The rows of arms that no Mac runs."""
        self._methods = {id(one): klass for klass in self._classes.values() for one in klass.body}
        self._visit(tree.body, self.top, ())
        for node in walk(tree):
            if isinstance(node, FUNCTIONS):
                self._visit(node.body, self._scope(node, self._methods.get(id(node))), ())

    def kinds(self) -> Iterator[tuple[ast.Call, str]]:
        """The calls that move something, each with the kind of that."""
        for moved, place in self._moves:
            yield place.call, worst(self._at(moved, place))

    def _visit(
        self,
        nodes: list[ast.stmt] | list[ast.expr],
        scope: Scope,
        inside: tuple[Comprehension | ast.Lambda, ...],
    ) -> None:
        todo: list[ast.AST] = list(nodes)
        while todo:
            node = todo.pop()
            if isinstance(node, ast.Call):
                place = Place(node, scope, inside)
                moved = self._moved_by(node)
                if moved is not None:
                    self._moves.append((moved, place))
                self._calls.setdefault(_called(node), []).append(place)
            if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
                continue
            if isinstance(node, ast.DictComp):
                todo += [one.iter for one in node.generators]
                self._visit([node.key, node.value], scope, (*inside, node))
            elif isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp):
                todo += [one.iter for one in node.generators]
                self._visit([node.elt], scope, (*inside, node))
            elif isinstance(node, ast.Lambda):
                self._visit([node.body], scope, (*inside, node))
            else:
                todo += ast.iter_child_nodes(node)

    def _at(self, node: ast.expr, place: Place) -> Value | None:
        """The kind of an expression beside a call."""
        scope, row = place.scope, place.call.lineno
        for one in place.inside:
            if isinstance(one, ast.Lambda):
                names = [given.arg for given in one.args.args]
                scope = scope.within({name: self._given_to(one, name) for name in names})
            else:
                scope = self._comprehended(one, scope, row)
        return self.value(node, scope, row)

    def _computed(self, node: ast.BinOp, of: Callable[[ast.expr], Value | None]) -> Value | None:
        found = super()._computed(node, of)
        sides = {worst(of(one)): one for one in (node.left, node.right)}
        if found == ANY and sides.keys() == {ANY, WIDE} and not _is_one(sides[WIDE], of):
            return WIDE  # By whatever an array of float64 is divided, it stays one.
        return found

    def _put_together(self, some: Iterable[Binding], scope: Scope) -> Value | None:
        every = list(some)
        others = [one for one in every if one.row not in self._for_cuda]
        return super()._put_together(others or every, scope)

    # what functions are given

    def _parameter(self, name: str, scope: Scope) -> Value | None:
        found = super()._parameter(name, scope)
        if found != ANY or name in scope.given or not isinstance(scope.function, FUNCTIONS):
            return found
        return self._given_to(scope.function, name)

    def _given_to(
        self, function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, name: str
    ) -> Value | None:
        """What the calls in the file give a function by one of its names."""
        key = id(function), name
        if key in self._handing:
            self._returns.unsettled += 1
        if key not in self._handed:
            self._handed[key] = ANY  # It is so where a function hands on what it was given.
            self._handing.add(key)
            values = list(self._arguments_of(function, name))
            self._handing.discard(key)
            found = all_together(values)
            self._handed[key] = ANY if found is None else found
        return self._handed[key]

    def _arguments_of(
        self, function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, name: str
    ) -> Iterator[Value | None]:
        klass = self._methods.get(id(function))
        if isinstance(function, ast.Lambda):
            called, names = self._lambdas.get(id(function), ""), [a.arg for a in function.args.args]
        else:
            called, names = function.name, parameters(function)
            if klass is not None and not is_static(function):
                names = names[1:]
            if klass is not None and function is method_of(klass, "__init__"):
                called = klass.name
        at = names.index(name) if name in names else -1
        meant = [one for one in self._calls.get("", ()) if one.call.func is function]
        for place in self._calls.get(called, ()) if called else meant:
            call = place.call
            told = [one.value for one in call.keywords if one.arg == name]
            if told:
                yield self._at(told[0], place)
            elif any(isinstance(one, ast.Starred) for one in call.args):
                continue
            elif 0 <= at < len(call.args):
                yield self._at(call.args[at], place)
        for place in (one for name in _MAPPING for one in self._calls.get(name, ())):
            first, rest = place.call.args[:1], place.call.args[1:]
            is_meant = any(
                one is function
                or (isinstance(one, ast.Name | ast.Attribute) and last_name(one) == called)
                for one in first
            )
            if is_meant and 0 <= at < len(rest):
                yield each(self._at(rest[at], place))


def _is_one(node: ast.expr, of: Callable[[ast.expr], Value | None]) -> bool:
    """Whether NumPy gives a single number: `np.log(0.5)`, `np.mean(kept)`. A tensor keeps its dtype
    beside one."""
    if not isinstance(node, ast.Call) or not node.args:
        return isinstance(node, ast.Call) and last_name(node.func) in MEANS and not node.keywords
    is_mean = last_name(node.func) in MEANS and len(node.args) == 1 and not node.keywords
    return is_mean or all(of(one) in (PLAIN, WHOLE) for one in node.args)


def _called(call: ast.Call) -> str:
    return last_name(call.func) or ""
