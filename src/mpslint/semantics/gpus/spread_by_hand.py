"""Programs that are spread over several GPUs by hand: one part is on `cuda:0`, another on `cuda:1`.

A number alone (`model.to("cuda:1")`) is one GPU of several, and any other would do. Where one
class, one function or the program itself puts parts on two of them, whatever it is asked for, it
is made for a machine with two.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.records import NamedTuple
from mpslint.semantics.devices.gpu_numbers import read, written_out
from mpslint.semantics.syntax.expressions import arguments_for
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.worlds.events import Event, Kind
from mpslint.semantics.worlds.machines import MAC
from mpslint.semantics.worlds.runners import is_test
from mpslint.semantics.worlds.state import Function
from mpslint.semantics.worlds.values import DEVICE, cases_of, places

if TYPE_CHECKING:
    from mpslint.model import Label
    from mpslint.semantics.context import Context

_MEMO = "spread by hand"
_CHOOSING = (ast.If, ast.IfExp, ast.Try, ast.Match, ast.While, ast.BoolOp)
"""What comes to one of several, or not at all."""


class Spread(NamedTuple):
    """What is put on several GPUs."""

    numbers: tuple[int, ...]
    nodes: tuple[ast.expr, ...]
    """The devices as they are written, and the calls of `.cuda(1)`, in source order."""

    def is_first(self, node: ast.expr) -> bool:
        """Whether it is the first of its kind: the others are shown with that."""
        return next(item for item in self.nodes if type(item) is type(node)) is node

    @property
    def message(self) -> str:
        *first, last = [f"cuda:{number}" for number in self.numbers]
        return (
            f"parts are put on {', '.join(first)} and {last} by hand: a Mac has one GPU,"
            " and this raises AssertionError where there is no CUDA"
        )

    def labels(self, context: Context, of: ast.expr) -> tuple[Label, ...]:
        """The other places."""
        others = (node for node in self.nodes if node is not of)
        return tuple(context.label(node, "put here as well") for node in others)


def spread_by_hand(context: Context) -> Spread | None:
    """What a file puts on several GPUs that have fixed numbers, if it does."""
    if _MEMO not in context.memo:
        context.memo[_MEMO] = _found(context)
    found = context.memo[_MEMO]
    assert found is None or isinstance(found, Spread)
    return found


def _found(context: Context) -> Spread | None:
    told = [
        (number, node, event)
        for event in context.worlds.events(Kind.PLACED, Kind.MOVED)
        if event.on_mac and not event.caught and not event.moves_nothing
        for number, node in _numbered(context, event)
        if not _is_one_of_several(context, node) and not _is_one_of_several(context, event.node)
    ]
    if len({number for number, _, _ in told}) < 2:
        return None
    units: dict[ast.AST, set[int]] = {}
    for number, _, event in told:
        units.setdefault(_unit(context, event), set()).add(number)
    several = [numbers for numbers in units.values() if len(numbers) > 1]
    numbers = set[int]().union(*several)
    nodes = {node for number, node, _ in told if number in numbers}
    if not nodes:
        return None
    return Spread(tuple(sorted(numbers)), tuple(sorted(nodes, key=_place)))


def _numbered(context: Context, event: Event) -> Iterator[tuple[int, ast.expr]]:
    """The numbers of GPUs that are written out for an event, each with what tells of it."""
    if event.kind is Kind.MOVED:
        call = event.call
        given = arguments_for(call, 0, "device")
        for item in given:
            number = _number(context, item)
            if number is not None:
                yield number, call
        return
    for _, atom in cases_of(event.value, event.worlds & MAC):
        if atom.kind == DEVICE and atom.v == "cuda" and not atom.maybe:
            for node in places(atom):
                number = _number(context, node)
                if number is not None:
                    yield number, node


def _number(context: Context, node: ast.expr) -> int | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        literal = read(context.index, context.names, node)
        return literal.ordinal if literal is not None else None
    return written_out(node)


def _is_one_of_several(context: Context, node: ast.AST) -> bool:
    """Whether something stands in a branch: another may put the same on another GPU."""
    for around in context.index.ancestors(node):
        if isinstance(around, FUNCTIONS):
            return False
        if isinstance(around, _CHOOSING):
            return True
    return False


def _unit(context: Context, event: Event) -> ast.AST:
    """What is one program: a class, a function, what stands outside of these; each test is one."""
    function = event.function
    if not isinstance(function, Function):
        return context.tree
    if function.cls is not None and not is_test(function):
        return function.cls.node
    return function.node


def _place(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset
