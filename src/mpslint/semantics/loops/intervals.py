"""How often a test of the number of the turn holds: `if step % args.every == 0`, with an `every`
that is 1 unless somebody asks for more; and tests that decide which network a turn trains."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.options import options

if TYPE_CHECKING:
    from mpslint.semantics.syntax.index import Index

_MOST_TURNS = 8
"""The generator of a GAN is trained every fifth turn or so; what is done every sixteenth turn, a
penalty of the gradients, is too rare for what it reads to count."""

_HALF = 2
"""Each remainder of two is that of every second turn."""
_WITH_STEP = 3
"""`range(start, end, step)`"""


def holds_each_turn(index: Index, remainder: ast.BinOp) -> bool:
    """Whether `step % every` is zero at all turns, as long as nobody says otherwise."""
    return numbers(index, remainder.right) == {1}


def arm_of_most_turns(index: Index, test: ast.expr) -> bool | None:
    """Which arm of a test most turns come to, since it asks for a remainder that few have: the
    first (True) of `i % 10 != 0`, `not i % 10 == 0` and `i % 10`, the second (False) of
    `i % 10 == 0`; None of others, and where nobody knows that there are more than two remainders.
    """
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        arm = arm_of_most_turns(index, test.operand)
        return None if arm is None else not arm
    arm = True
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        if not isinstance(test.comparators[0], ast.Constant):
            return None
        if not isinstance(test.ops[0], ast.Eq | ast.NotEq):
            return None
        arm = isinstance(test.ops[0], ast.NotEq)
        test = test.left
    if not isinstance(test, ast.BinOp) or not isinstance(test.op, ast.Mod):
        return None
    known = numbers(index, test.right)
    return arm if known and min(known) > _HALF else None


def turns_few_times(loop: ast.AST) -> bool:
    """`for part in range(2):`, whose first turn is a good part of them all."""
    end = _end_of_range(loop)
    return end is not None and end <= _MOST_TURNS


def turns_once(loop: ast.AST) -> bool:
    """`for i in range(1):`, which repeats nothing."""
    end = _end_of_range(loop)
    return end is not None and end <= 1


def _end_of_range(loop: ast.AST) -> int | None:
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call):
        return None
    if not isinstance(loop.iter.func, ast.Name) or loop.iter.func.id != "range":
        return None
    last = loop.iter.args[-1] if loop.iter.args else None
    if isinstance(last, ast.Constant) and isinstance(last.value, int):
        return last.value if len(loop.iter.args) < _WITH_STEP else None
    return None


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
    given = list(_given(index, node))
    values = [
        *_defaults(index, node.attr),
        *_settings(index, node),
        *(part.value for part in given),
    ]
    if len(given) == len(values) and all(_is_in_an_arm(index, part) for part in given):
        return set()  # `if opt.debug: opt.every = 1` does not say what it is otherwise
    known = {
        item.value
        for item in values
        if isinstance(item, ast.Constant) and isinstance(item.value, int)
    }
    return known if len(values) == sum(isinstance(item, ast.Constant) for item in values) else set()


def _defaults(index: Index, option: str) -> Iterator[ast.expr]:
    for call in options(index, option):
        yield from (keyword.value for keyword in call.keywords if keyword.arg == "default")


def _settings(index: Index, attribute: ast.Attribute) -> Iterator[ast.expr]:
    """What is written for the name in the bodies of classes."""
    for use in index.names.get(attribute.attr, ()):
        statement = index.parents[use]
        if isinstance(index.parents.get(statement), ast.ClassDef):
            if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
                yield statement.value


def _given(index: Index, attribute: ast.Attribute) -> Iterator[ast.Assign]:
    """Where the attribute is given a value, anywhere in the file."""
    for other in index.attributes.get(attribute.attr, ()):
        statement = index.parents[other]
        if isinstance(other.ctx, ast.Store) and isinstance(statement, ast.Assign):
            yield statement


def _is_in_an_arm(index: Index, statement: ast.stmt) -> bool:
    for parent in index.ancestors(statement):
        if isinstance(parent, FUNCTIONS):
            return False
        if isinstance(parent, ast.If):
            return True
    return False
