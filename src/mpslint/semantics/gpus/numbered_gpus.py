"""The number of a GPU that somebody gave: `if args.gpu is not None: set_device(args.gpu)`.

Who asks whether there is a number reckons with none, and that is what a machine without CUDA has.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.names.flow import leaves
from mpslint.semantics.purpose.arm_tests import tests_around
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.options import options
from mpslint.semantics.syntax.parameters import (
    defaults_of,
    explicit_parameters,
    positional_parameters,
)

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_CONVERTING = frozenset({"int", "str"})


def is_of_given_number(context: Context, call: ast.Call) -> bool:
    """Whether a call is about the GPU of a number, and nobody comes to it where none was given; as
    long as none is given where nobody says anything."""
    number = _number(call)
    if number is not None and _is_another_than_the_first(context, call, ast.unparse(number)):
        return True
    if isinstance(number, ast.Name) and _is_each_of_given(context, call, number.id):
        return True
    if number is None or not _is_asked_for(context, call, ast.unparse(number)):
        return False
    return not _is_given_by_default(context, call, number)


def _number(call: ast.Call) -> ast.Name | ast.Attribute | None:
    if not call.args:
        return None
    given = call.args[0]
    while (
        isinstance(given, ast.Call)
        and isinstance(given.func, ast.Name)
        and given.func.id in _CONVERTING
        and len(given.args) == 1
    ):
        given = given.args[0]
    return given if isinstance(given, ast.Name | ast.Attribute) else None


def _is_asked_for(context: Context, call: ast.Call, number: str) -> bool:
    """Whether a test around the call, or one that leaves before it, asks whether there is one."""
    if any(
        _compares(test, number, ast.IsNot if outcome else ast.Is)
        for test, outcome, _ in tests_around(context, call)
    ):
        return True
    child: ast.AST = call
    for parent in context.index.ancestors(call):
        if isinstance(child, ast.stmt) and context.index.place(child) is not None:
            for before in context.index.block(child):
                if before is child:
                    break
                if isinstance(before, ast.If) and _leaves_without(context, before, number):
                    return True
        if isinstance(parent, FUNCTIONS):
            return False
        child = parent
    return False


def _leaves_without(context: Context, statement: ast.If, number: str) -> bool:
    """`if gpu is None: return`"""
    arms = (statement.body, statement.orelse)
    return any(
        leaves(arm) and _compares(test, number, ast.Is if outcome else ast.IsNot)
        for arm in arms
        if arm
        for test, outcome, around in tests_around(context, arm[0])
        if around is arm
    )


def _is_another_than_the_first(context: Context, call: ast.Call, number: str) -> bool:
    """`if index > 0:` around the call: a GPU that only machines with several have."""
    return any(
        outcome
        and isinstance(test, ast.Compare)
        and len(test.ops) == 1
        and isinstance(test.ops[0], ast.Gt)
        and isinstance(test.comparators[0], ast.Constant)
        and test.comparators[0].value == 0
        and ast.unparse(test.left) == number
        for test, outcome, _ in tests_around(context, call)
    )


def _is_each_of_given(context: Context, call: ast.Call, number: str) -> bool:
    """Whether a call is made for each GPU of those that a function is given, and that it cannot do
    without: `for part, gpu in zip(parts, device_ids):`."""
    function = context.index.function(call)
    if function is None:
        return False
    parameters = positional_parameters(function.args)
    needed = {item.arg for item in parameters[: len(parameters) - len(function.args.defaults)]}
    for loop in context.index.ancestors(call):
        if isinstance(loop, ast.For):
            for listed, given in _pairs(loop.target, loop.iter):
                if isinstance(listed, ast.Name) and listed.id == number:
                    return isinstance(given, ast.Name) and given.id in needed
    return False


def _pairs(target: ast.expr, given: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """What a loop gives its names from: `zip` and `enumerate` give several."""
    if not isinstance(given, ast.Call) or not isinstance(given.func, ast.Name):
        return [(target, given)]
    names = target.elts if isinstance(target, ast.Tuple) else []
    if given.func.id == "enumerate":
        names = names[1:]
    elif given.func.id != "zip":
        return []
    return list(zip(names, given.args, strict=False))


def _compares(test: ast.expr, number: str, operator: type[ast.cmpop]) -> bool:
    """`gpu is not None`, also as one of what must hold."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) and operator is ast.IsNot:
        return any(_compares(part, number, operator) for part in test.values)
    return (
        isinstance(test, ast.Compare)
        and len(test.ops) == 1
        and isinstance(test.ops[0], operator)
        and isinstance(test.comparators[0], ast.Constant)
        and test.comparators[0].value is None
        and ast.unparse(test.left) == number
    )


def _is_given_by_default(
    context: Context, call: ast.Call, number: ast.Name | ast.Attribute
) -> bool:
    """Whether a number is there where nobody says one: an option's or a parameter's default."""
    if isinstance(number, ast.Attribute):
        return any(
            keyword.arg == "default" and not _is_none(keyword.value)
            for option in options(context.index, number.attr)
            for keyword in option.keywords
        )
    function = context.index.function(call)
    if function is None:
        return True  # A number that the script itself has chosen.
    if number.id not in {item.arg for item in explicit_parameters(function.args)}:
        return True
    return any(
        item.arg == number.id and not _is_none(default)
        for item, default in defaults_of(function.args)
    )


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None
