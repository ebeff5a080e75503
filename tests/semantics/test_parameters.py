"""The parameters of a function, and what a call gives for them."""

from __future__ import annotations

import ast

import pytest

from mpslint.semantics.syntax.parameters import (
    defaults_of,
    explicit_parameters,
    given_for,
    positional_names,
    required_parameters,
)

ALL = "def f(a, /, b, c=1, *rest, d, e=2, **more): ..."


def arguments(text: str) -> ast.arguments:
    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    return function.args


def given(text: str, call: str, name: str) -> str | None:
    node = ast.parse(call, mode="eval").body
    assert isinstance(node, ast.Call)
    found = given_for(arguments(text), node, name)
    return ast.unparse(found) if found is not None else None


def test_those_with_a_place_are_in_order() -> None:
    assert positional_names(arguments(ALL)) == ["a", "b", "c"]


def test_lists_of_arguments_are_none_of_the_explicit_ones() -> None:
    assert [one.arg for one in explicit_parameters(arguments(ALL))] == ["a", "b", "c", "d", "e"]


def test_each_default_is_that_of_its_parameter() -> None:
    found = [(one.arg, ast.unparse(default)) for one, default in defaults_of(arguments(ALL))]
    assert found == [("c", "1"), ("e", "2")]


def test_what_has_no_default_is_required() -> None:
    assert [one.arg for one in required_parameters(arguments(ALL))] == ["a", "b", "d"]


@pytest.mark.parametrize(
    ("call", "name", "value"),
    [
        ("f(1, 2)", "b", "2"),
        ("f(1, b=2)", "b", "2"),
        ("f(1, 2, d=3)", "d", "3"),
        ("f(1)", "b", None),
        ("f(*both)", "b", None),
        ("f(1, *rest)", "a", "1"),
        ("f(1, *rest)", "c", None),
    ],
)
def test_an_argument_is_found_by_its_name_or_its_place(
    call: str, name: str, value: str | None
) -> None:
    assert given(ALL, call, name) == value


def test_an_object_is_given_by_the_name_that_its_method_is_called_by() -> None:
    assert given("def f(self, x): ...", "net.f(1)", "x") == "1"
    assert given("def f(self, x): ...", "f(net, 1)", "x") == "1"
