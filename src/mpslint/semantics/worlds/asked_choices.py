"""Tests that ask for a device by its name, and for the machine as well.

`"cuda" if name == "cuda" and torch.cuda.is_available() else "cpu"`: the name is a switch whose
value is a text. Whoever says it wants the GPU where there is one, so that a port opens this as it
opens `use_cuda and torch.cuda.is_available()`. A test that decides no choice looks at a device that
was chosen before, and so does one of a type: `device.type == "cuda" and torch.cuda.is_available()`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Sequence
from enum import IntEnum

from mpslint.semantics.syntax.giving_up import gives_up
from mpslint.semantics.syntax.index import walk
from mpslint.semantics.terms.facts_known import backend_word
from mpslint.semantics.worlds.values import DEVICE, NAME, UNKNOWN, Atom


class Asked(IntEnum):
    """What a test asks for besides the machine."""

    NOTHING = 0
    DEVICE = 1
    SWITCH = 2
    """A device, which it chooses, by the name that somebody gave."""


def chooses_by_name(
    node: ast.If | ast.IfExp,
    answers: Callable[[ast.Name], bool],
    given: ast.expr | None = None,
) -> ast.expr | None:
    """The test of a choice that takes CUDA where the machine has it, and something else holds as
    well; None where it is another choice. Who is turned away otherwise has insisted on it.
    `answers`: whether a name holds what the machine said; `given`: what the name stands for that is
    the test."""
    test, holds = node.test, True
    if given is not None:
        holds = isinstance(test, ast.Name)
        test = given
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, holds = test.operand, not holds
    is_several = isinstance(test, ast.BoolOp)
    if not is_several and compared_device(test) is None:
        return None
    if any(map(_looks_at_type, walk(test))):
        return None
    if isinstance(test, ast.BoolOp):
        is_all = isinstance(test.op, ast.And)
        if not any(_is_question(item, is_all, answers) for item in test.values):
            return None
        holds = holds is is_all
    taken, other = (node.body, node.orelse) if holds else (node.orelse, node.body)
    arm = [taken] if isinstance(taken, ast.expr) else taken
    if isinstance(other, list) and _turns_away(other):
        return None
    takes = any(map(_takes_cuda, arm)) if is_several else _takes_cuda_if_there(arm)
    return test if takes else None


def choices_by_flag(tree: ast.AST) -> dict[str, list[ast.If | ast.IfExp]]:
    """The choices that a name decides, or that it does not hold, by that."""
    found: dict[str, list[ast.If | ast.IfExp]] = {}
    for node in walk(tree):
        if isinstance(node, ast.If | ast.IfExp):
            test = node.test
            if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
                test = test.operand
            if isinstance(test, ast.Name):
                found.setdefault(test.id, []).append(node)
    return found


def is_left_open(asked: Asked, a: Atom, b: Atom, cuda_tests: Container[ast.expr]) -> bool:
    """Whether a comparison says nothing of the machine, since the test asks for that by itself."""
    devices = [atom for atom in (a, b) if atom.kind == DEVICE]
    if any(atom.maybe and atom.v == "cuda" for atom in devices):
        return bool(asked)
    if asked is not Asked.SWITCH or not devices:
        return False
    if any(test in cuda_tests for atom in devices for test in atom.tests):
        return False  # It was chosen before.
    if len(devices) == 1:
        return devices[0].v == "cuda" and not {UNKNOWN, NAME}.isdisjoint((a.kind, b.kind))
    return a.maybe or b.maybe or a.v == b.v == "cuda"


def compared_device(test: ast.expr) -> ast.expr | None:
    """`device` of `device == "cuda"` and of `device.startswith("cuda")`."""
    named: ast.expr | None = None
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        right = test.comparators[0]
        if isinstance(test.ops[0], ast.Eq) and _is_cuda_text(right):
            named = test.left
        elif isinstance(test.ops[0], ast.In) and _is_cuda_text(test.left):
            named = right
    elif isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute):
        if test.func.attr == "startswith" and test.args and _is_cuda_text(test.args[0]):
            named = test.func.value
    if isinstance(named, ast.Attribute) and named.attr == "type":
        named = named.value
    return named


def asks_by_name(value: ast.expr) -> bool:
    """Whether a flag may be the test of such a choice: the cheap question first."""
    if isinstance(value, ast.BoolOp):
        return asks_machine(value)
    return compared_device(value) is not None


def asks_machine(node: ast.BoolOp) -> bool:
    return any(_is_question_itself(item) for value in node.values for item in walk(value))


def _is_question(node: ast.expr, holds: bool, answers: Callable[[ast.Name], bool]) -> bool:
    """Whether a part of a test asks whether there is CUDA; or, where it does not hold, none."""
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        node, holds = node.operand, not holds
    if not holds:
        return False
    return (
        answers(node) if isinstance(node, ast.Name) else any(map(_is_question_itself, walk(node)))
    )


def _is_question_itself(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in ("is_available", "device_count")


def _looks_at_type(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in ("type", "is_cuda")


def _takes_cuda(part: ast.stmt | ast.expr) -> bool:
    """Whether an arm, or a statement in it, chooses CUDA, or moves something there."""
    if isinstance(part, ast.expr):
        return _names_cuda(part)
    if isinstance(part, ast.Assign | ast.AnnAssign | ast.Return):
        if part.value is not None and _names_cuda(part.value):
            return True
    elif not isinstance(part, ast.Expr):
        return False
    return any(
        isinstance(item, ast.Call)
        and isinstance(item.func, ast.Attribute)
        and item.func.attr == "cuda"
        for item in walk(part)
    )


def _takes_cuda_if_there(arm: Sequence[ast.stmt | ast.expr]) -> bool:
    """Whether an arm chooses CUDA where the machine has it."""
    inside = [item for part in arm for item in walk(part)]
    return any(map(_is_question_itself, inside)) and any(
        (isinstance(item, ast.IfExp) and _names_cuda(item.body))
        or (
            isinstance(item, ast.If)
            and any(map(_takes_cuda, item.body))
            and not _turns_away(item.orelse)
        )
        for item in inside
    )


def _names_cuda(node: ast.expr) -> bool:
    return any(map(_is_cuda_text, walk(node)))


def _turns_away(other: Sequence[ast.stmt]) -> bool:
    """Whether what is left of a choice ends by an error, or does so for some: `elif name == "cuda":
    raise`."""
    if len(other) == 1 and isinstance(other[0], ast.If):
        return gives_up(other[0].body) or _turns_away(other[0].orelse)
    return gives_up(other)


def _is_cuda_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and backend_word(node) == "cuda"
