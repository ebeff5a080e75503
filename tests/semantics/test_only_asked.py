"""A function that is called from many places is looked through once for what it only asks."""

from __future__ import annotations

import ast

import pytest

from mpslint.semantics.worlds import only_asked
from mpslint.semantics.worlds.only_asked import asked_alone
from mpslint.semantics.worlds.state import Function
from mpslint.semantics.worlds.values import NO_TESTS, Atom


def _function(text: str) -> Function:
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef)
    return Function(node, None, [], 1, NO_TESTS, None)


@pytest.mark.parametrize(
    ("text", "is_asked"),
    [
        ("def f(d):\n    return d.type == 'cuda'", True),
        ("def f(d):\n    return 'cuda' == d", True),
        ("def f(d):\n    return d == 'cuda' and g(d)", False),
        ("def f(d):\n    return d", False),
        ("def f(d):\n    return 1", False),
        ("def f(*, d):\n    return d.index != 0", True),
    ],
)
def test_what_is_compared_and_no_more_is_only_asked(text: str, is_asked: bool) -> None:
    given = Atom("device", "cuda")
    assert asked_alone(_function(text), {"d": given}) == ({id(given)} if is_asked else set())


def test_it_is_looked_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    function = _function("def f(d):\n    return d == 'cuda'")
    first, second = Atom("device", "cuda"), Atom("device", "cpu")
    asked_alone(function, {"d": first})
    monkeypatch.setattr(only_asked, "of_kinds", None)
    assert asked_alone(function, {"d": second}) == {id(second)}
