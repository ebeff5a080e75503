"""Which loaders a program draws batches from, followed from the loop to where they are made."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.names.assigned import Assigned
from mpslint.semantics.names.unpacked import bound_part
from mpslint.semantics.processes.main_module import Place, definition
from mpslint.semantics.processes.worker_counts import LOADERS, argument
from mpslint.semantics.syntax.index import FUNCTIONS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.names.names import Binding
    from mpslint.semantics.processes.main_module import MainModule

_DEPTH = 10
_NOT_DRAWN = frozenset(
    {"len", "range", "isinstance", "print", "type", "id", "str", "repr", "hasattr"}
)
"""Builtins that ask something of a loader without drawing from it."""
_DRAWING = frozenset({"iter", "list", "tuple", "sorted"})
"""Builtins that draw from what they are given."""


class DrawnLoaders:
    def __init__(self, program: MainModule) -> None:
        self._program = program
        self._assigned: dict[int, Assigned] = {}
        self._seen: set[ast.AST] = set()
        """What one question has come by: each way is followed once, however many lead to it."""

    def by(self, place: Place) -> Iterator[Place]:
        """The calls that make the loaders from which a loop, a comprehension or a call draws."""
        node = place.node
        self._seen.clear()
        if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            yield from self._made(place.context, node.iter, _DEPTH)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in _DRAWING and node.args:
                yield from self._made(place.context, node.args[0], _DEPTH)

    def in_call(self, place: Place) -> bool:
        """Whether a call is given a loader."""
        call = place.node
        assert isinstance(call, ast.Call)
        self._seen.clear()
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        return any(True for _ in self._all(place.context, given, _DEPTH))

    def _made(self, context: Context, node: ast.AST, depth: int) -> Iterator[Place]:
        if depth and node not in self._seen:
            self._seen.add(node)
            yield from self._parts(context, node, depth - 1)

    def _parts(self, context: Context, node: ast.AST, depth: int) -> Iterator[Place]:
        if isinstance(node, ast.Call):
            yield from self._call(context, node, depth)
        elif isinstance(node, ast.Name):
            for binding in context.flow.reaching(node):
                yield from self._bound(context, binding, node.id, depth)
        elif isinstance(node, ast.Attribute):
            known = self._assigned.setdefault(id(context), Assigned(context.index))
            yield from self._all(context, known.to(node), depth)
        elif isinstance(node, ast.Subscript):
            yield from self._made(context, node.value, depth)
            if isinstance(node.value, ast.Name):
                yield from self._all(context, _put_into(context, node.value.id), depth)
        elif isinstance(node, ast.IfExp):
            yield from self._all(context, (node.body, node.orelse), depth)
        elif isinstance(node, ast.BoolOp | ast.Dict):
            yield from self._all(context, node.values, depth)
        elif isinstance(node, ast.Tuple | ast.List):
            yield from self._all(context, node.elts, depth)
        elif isinstance(node, ast.DictComp):
            yield from self._made(context, node.value, depth)
        elif isinstance(node, ast.ListComp | ast.GeneratorExp):
            yield from self._made(context, node.elt, depth)
        elif isinstance(node, ast.Starred):
            yield from self._made(context, node.value, depth)

    def _all(self, context: Context, nodes: Iterable[ast.AST], depth: int) -> Iterator[Place]:
        for node in nodes:
            yield from self._made(context, node, depth)

    def _call(self, context: Context, node: ast.Call, depth: int) -> Iterator[Place]:
        if context.resolve(node.func) in LOADERS:
            yield Place(context, node)
            return
        called = definition(context, node.func)
        if called is not None:
            if isinstance(called.node, FUNCTIONS):
                for returned in _returned(called.context, called.node):
                    yield from self._made(called.context, returned, depth)
            return
        if isinstance(node.func, ast.Name) and node.func.id in _NOT_DRAWN:
            return
        # `enumerate(loader)`, `tqdm(loader)`, `accelerator.prepare(model, loader)`: what others
        # are given to draw from, they draw from.
        yield from self._all(context, node.args, depth)
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("items", "values"):
            yield from self._made(context, node.func.value, depth)

    def _bound(self, context: Context, binding: Binding, name: str, depth: int) -> Iterator[Place]:
        if binding.kind == "parameter":
            function = context.index.function(binding.node)
            if function is None or not isinstance(binding.node, ast.arg):
                return
            for place in self._program.calls_of.get(function, ()):
                assert isinstance(place.node, ast.Call)
                if binding.node is function.args.vararg:
                    yield from self._all(place.context, place.node.args, depth)
                    continue
                given = argument(context, place.node, function, binding.node)
                if given is not None:
                    yield from self._made(place.context, given, depth)
            return
        part = bound_part(binding, name)
        if part is not None:
            yield from self._made(context, part, depth)
        elif binding.kind == "unpack" and isinstance(binding.value, ast.Call):
            yield from self._unpacked(context, binding, name, depth)
        elif binding.kind == "for" and isinstance(binding.value, ast.Tuple | ast.List):
            yield from self._all(context, binding.value.elts, depth)

    def _unpacked(
        self, context: Context, binding: Binding, name: str, depth: int
    ) -> Iterator[Place]:
        """`train_loader, test_loader = get_loaders()`: what stands in the same place there."""
        call, row = binding.value, _row(binding, name)
        assert isinstance(call, ast.Call)
        called = definition(context, call.func)
        if called is None or not isinstance(called.node, FUNCTIONS):
            # `model, loader = accelerator.prepare(model, loader)`
            if row is not None and len(call.args) > row:
                yield from self._made(context, call.args[row], depth)
            return
        for returned in _returned(called.context, called.node):
            if isinstance(returned, ast.Tuple) and row is not None and len(returned.elts) > row:
                yield from self._made(called.context, returned.elts[row], depth)


def _row(binding: Binding, name: str) -> int | None:
    for target in getattr(binding.node, "targets", ()):
        if isinstance(target, ast.Tuple | ast.List):
            for row, item in enumerate(target.elts):
                if isinstance(item, ast.Name) and item.id == name:
                    return row
    return None


def _returned(context: Context, function: ast.AST) -> list[ast.expr]:
    return [item.value for item in context.index.returns(function) if item.value is not None]


def _put_into(context: Context, name: str) -> list[ast.expr]:
    """What is assigned to the elements of something: `loaders["train"] = ...`"""
    return [
        statement.value
        for statement in context.index.of(ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Subscript)
        and isinstance(target.value, ast.Name)
        and target.value.id == name
    ]
