"""How often a test of the number of the turn holds: `if step % args.every == 0`, with an `every`
that is 1 unless somebody asks for more; and tests that decide which network a turn trains."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.single_turns import destinations

if TYPE_CHECKING:
    from mpslint.semantics.index import Index

_MOST_TURNS = 8
"""The generator of a GAN is trained every fifth turn or so; what is done every sixteenth turn, a
penalty of the gradients, is too rare for what it reads to count."""


def holds_each_turn(index: Index, remainder: ast.BinOp) -> bool:
    """Whether `step % every` is zero at all turns, as long as nobody says otherwise."""
    return numbers(index, remainder.right) == {1}


def turns_few_times(loop: ast.AST) -> bool:
    """`for part in range(2):`, whose first turn is a good part of them all."""
    return (
        isinstance(loop, ast.For)
        and isinstance(loop.iter, ast.Call)
        and isinstance(loop.iter.func, ast.Name)
        and loop.iter.func.id == "range"
        and isinstance(loop.iter.args[-1], ast.Constant)
        and isinstance(loop.iter.args[-1].value, int)
        and loop.iter.args[-1].value <= _MOST_TURNS
    )


def is_part_of_training(index: Index, test: ast.expr) -> bool:
    """Whether a test of the number of the turn holds often enough for what it guards, where that is
    a step of training itself, to be one at each time."""
    for item in ast.walk(test):
        if isinstance(item, ast.BinOp) and isinstance(item.op, ast.Mod):
            known = numbers(index, item.right)
            if known and min(known) > _MOST_TURNS:
                return False
    return True


def numbers(index: Index, node: ast.expr) -> set[int]:
    """The numbers that `node` may be where nobody chooses: itself, the default of an option of the
    program, or what a class of settings says; empty where that is not known."""
    if isinstance(node, ast.Constant):
        return {node.value} if isinstance(node.value, int) else set()
    if not isinstance(node, ast.Attribute):
        return set()
    values = [*_defaults(index, node.attr), *_settings(index, node)]
    known = {
        item.value
        for item in values
        if isinstance(item, ast.Constant) and isinstance(item.value, int)
    }
    return known if len(values) == sum(isinstance(item, ast.Constant) for item in values) else set()


def _defaults(index: Index, option: str) -> Iterator[ast.expr]:
    for call in index.calls.get("add_argument", ()):
        if option in destinations(call):
            yield from (keyword.value for keyword in call.keywords if keyword.arg == "default")


def _settings(index: Index, attribute: ast.Attribute) -> Iterator[ast.expr]:
    """What is written for the name in the bodies of classes, and given to the attribute anywhere
    in the file."""
    for use in index.names.get(attribute.attr, ()):
        statement = index.parents[use]
        if isinstance(index.parents.get(statement), ast.ClassDef):
            if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
                yield statement.value
    for other in index.attributes.get(attribute.attr, ()):
        statement = index.parents[other]
        if isinstance(other.ctx, ast.Store) and isinstance(statement, ast.Assign):
            yield statement.value
