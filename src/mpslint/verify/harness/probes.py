"""Which of the lines that somebody asks about ran: a probe before each statement that holds one.

A probe adds its number to a set when it is reached. It is put into the parsed source, so it costs
nothing elsewhere and works in every thread and forked worker, whatever the version of Python.
"""

from __future__ import annotations

import ast
import builtins
import json
import os
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from . import rewriting
from .recorder import RECORDER

_NAME = "__mpslint_reached__"

_TRIES = (ast.Try, getattr(ast, "TryStar", ast.Try))  # except*: Python 3.11

Region = ast.stmt | ast.expr
"""What runs as one: a statement without its body, or a part of it that need not run with it."""


class Lines(NamedTuple):
    """The lines of a region's own."""

    region: Region
    first: int
    last: int


def regions(tree: ast.Module) -> Iterator[Lines]:
    """The regions of a file, the outer ones before what they hold."""
    for node in _statements(tree):
        if _is_no_code(node):
            continue
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(one.lineno for one in decorators)])
        body = getattr(node, "body", None) or getattr(node, "cases", None)
        last = node.end_lineno or node.lineno
        if body:
            last = max(first, _first_line(body[0]) - 1)
            if isinstance(node, _TRIES):
                continue  # `try:` does nothing by itself
        yield Lines(node, first, last)
        yield from _parts(node, first)


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        if not isinstance(child, ast.expr):
            yield from _statements(child)


def _is_no_code(node: ast.stmt) -> bool:
    if isinstance(node, ast.Global | ast.Nonlocal):
        return True
    if isinstance(node, ast.ImportFrom):
        return node.module == "__future__"
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _first_line(node: Any) -> int:
    if isinstance(node, ast.match_case):
        return node.pattern.lineno
    rows = [node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))]
    return int(min(rows))


def _parts(node: ast.AST, begins: int) -> Iterator[Lines]:
    """Operands that begin on a line of their own and need not run with the rest."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.JoinedStr | ast.excepthandler | ast.match_case):
            continue
        inner = begins
        if isinstance(child, ast.expr) and _may_be_left_out(node, child) and child.lineno > begins:
            yield Lines(child, child.lineno, child.end_lineno or child.lineno)
            inner = child.lineno
        yield from _parts(child, inner)


def _may_be_left_out(node: ast.AST, child: ast.expr) -> bool:
    if isinstance(node, ast.IfExp):
        return child is not node.test
    if isinstance(node, ast.BoolOp):
        return child is not node.values[0]
    if isinstance(node, ast.Lambda):
        return child is node.body
    if isinstance(node, ast.DictComp):
        return child in (node.key, node.value)
    return isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp) and child is node.elt


def owners(tree: ast.Module) -> dict[int, Region]:
    """The innermost region of each line that holds code."""
    found: dict[int, Region] = {}
    for lines in regions(tree):
        for number in range(lines.first, lines.last + 1):
            found[number] = lines.region
    return found


class _Placing(ast.NodeTransformer):
    def __init__(self, numbers: dict[int, int]) -> None:
        self.numbers = numbers  # id of a region -> its probe

    def visit(self, node: ast.AST) -> Any:
        number = self.numbers.get(id(node))
        made = self.generic_visit(node)
        if number is None:
            return made
        if isinstance(made, ast.stmt):
            return [ast.copy_location(ast.Expr(_call(number, made)), made), made]
        # (probe or value): a probe gives None
        assert isinstance(made, ast.expr)
        return ast.copy_location(ast.BoolOp(ast.Or(), [_call(number, made), made]), made)


def _call(number: int, at: ast.AST) -> ast.expr:
    name = ast.Name(_NAME, ast.Load())
    call = ast.Call(name, [ast.Constant(number)], [])
    return ast.fix_missing_locations(ast.copy_location(call, at))


class Probes:
    """The files that are asked about, and what was reached in them."""

    def __init__(self, wanted: dict[str, list[int]]) -> None:
        self.wanted = {os.path.realpath(path): frozenset(rows) for path, rows in wanted.items()}
        self.places: list[tuple[str, list[int]]] = []

    def wants(self, path: str) -> bool:
        """Whether anybody asks about this file."""
        return os.path.realpath(path) in self.wanted

    def change(self, tree: ast.Module, path: str) -> ast.Module:
        """The tree of a file with its probes."""
        rows = self.wanted[os.path.realpath(path)]
        numbers: dict[int, int] = {}
        places: dict[int, list[int]] = {}
        for row, region in owners(tree).items():
            if row in rows:
                places.setdefault(id(region), []).append(row)
        for identity, held in places.items():
            numbers[identity] = len(self.places)
            self.places.append((path, held))
        placed: ast.Module = _Placing(numbers).visit(tree)
        return placed

    def reached(self, numbers: Iterable[int]) -> list[list[Any]]:
        """File and line of what the probes with these numbers stand for."""
        found = {(path, row) for n in numbers for path, rows in [self.places[n]] for row in rows}
        return [list(place) for place in sorted(found)]


PROBES: Probes | None = None


def install(path: str | None) -> None:
    """Put probes into the files that the JSON file at `path` names, as they are imported."""
    global PROBES
    if path is None:
        return
    with open(path, encoding="utf-8") as stream:
        PROBES = Probes(json.load(stream))
    setattr(builtins, _NAME, RECORDER.reached.add)
    rewriting.add(PROBES)


def lines_reached() -> list[list[Any]]:
    """File and line of what ran of what was asked about, in this process."""
    return [] if PROBES is None else PROBES.reached(list(RECORDER.reached))
