"""Which functions a runner of tests calls, and with what."""

from __future__ import annotations

import ast
from collections.abc import Container

from mpslint.semantics.syntax.expressions import keyword
from mpslint.semantics.syntax.node_kinds import of_kinds
from mpslint.semantics.syntax.parameters import positional_parameters
from mpslint.semantics.worlds.state import Function

# Fact: unittest (`TestCase`) and pytest ("xunit-style setup").
PREPARING = ("setUp", "setUpClass", "setup_method")
"""Methods that a runner calls before the tests of a class."""
AROUND_EACH = frozenset({"setUp", "tearDown", "setup_method", "teardown_method"})
"""Methods that a runner calls around each test of a class that it runs."""


def is_test(function: Function) -> bool:
    """Whether a function is a test, or a part of a case of unittest's."""
    return _of_test_case(function) or function.node.name.startswith("test_")


def takes_several_gpus(function: Function) -> bool:
    """Whether a test spreads something over GPUs of several numbers, whatever is the case: it fails
    where there are fewer."""
    return any(
        isinstance(call, ast.Call) and _names_several(call)
        for statement in function.node.body
        if isinstance(statement, ast.Assign | ast.Expr | ast.Return)
        for call in of_kinds(statement, {ast.Call})
    )


def _names_several(call: ast.Call) -> bool:
    """`DataParallel(net, device_ids=[0, 1])`"""
    given = keyword(call, "device_ids")
    items = given.elts if isinstance(given, ast.List | ast.Tuple) else []
    numbers = {item.value for item in items if isinstance(item, ast.Constant)}
    return len(numbers) == len(items) > 1


def runs_with_defaults(function: Function, fixtures: Container[str], *, script: bool) -> bool:
    """Whether a runner calls a test and leaves its parameters as their defaults say: unittest
    gives no arguments, pytest none to a parameter that has a default.

    In a `script`, a function that is called `test_...` may be one of its steps.
    """
    name, cls = function.node.name, function.cls
    if not name.startswith("test"):
        return False
    if cls is None and (script or not name.startswith("test_")):
        return False
    if cls is not None and not (_of_test_case(function) or cls.node.name.startswith("Test")):
        return False
    arguments = function.node.args
    positional = positional_parameters(arguments)
    required = positional[: len(positional) - len(arguments.defaults)]
    if cls is not None and not function.static:
        required = required[1:]
    return all(item.arg in fixtures for item in required)


def _of_test_case(function: Function) -> bool:
    cls = function.cls
    return cls is not None and any(base.endswith("TestCase") for base in cls.bases)
