"""Which assignments reach a use, and whether one does on every way there."""

from __future__ import annotations

import ast

import pytest
from probing import probe


def reaching(program: str) -> set[str]:
    context, node = probe(program)
    assert isinstance(node, ast.Name)
    values = (binding.value for binding in context.flow.reaching(node))
    return {ast.unparse(value) if value is not None else "" for value in values}


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("x = 1\nx = 2\nprobe(x)", {"2"}),
        ("x = 1\nif a:\n    x = 2\nprobe(x)", {"1", "2"}),
        ("if a:\n    x = 1\nelse:\n    x = 2\nprobe(x)", {"1", "2"}),
        ("x = 1\nif a:\n    x = 2\n    sys.exit()\nprobe(x)", {"1"}),
        ("x = 1\nfor i in y:\n    probe(x)\n    x = 2", {"1", "2"}),
        ("x = 1\nwhile a:\n    x = 2\nprobe(x)", {"1", "2"}),
        ("x = 1\ntry:\n    x = 2\nexcept E:\n    pass\nprobe(x)", {"1", "2"}),
        ("try:\n    x = 2\nexcept E:\n    raise\nprobe(x)", {"2"}),
        ("with a as x:\n    probe(x)", {"a"}),
        ("for x in y:\n    probe(x)", {"y"}),
        ("probe(x)\nx = 1", set()),
        ("def f(x=3):\n    probe(x)", {"3"}),
        ("def f(x=3):\n    x = 1\n    probe(x)", {"1"}),
        ("match a:\n    case 1:\n        x = 1\n    case _:\n        x = 2\nprobe(x)", {"1", "2"}),
    ],
)
def test_only_what_may_have_been_assigned_last_reaches_a_use(
    program: str, expected: set[str]
) -> None:
    assert reaching(program) == expected


def test_a_function_sees_all_that_the_module_ever_assigns() -> None:
    assert reaching("x = 1\ndef f():\n    probe(x)\nx = 2") == {"1", "2"}


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("x = 1\nprobe(x)", True),
        ("if a:\n    x = 1\nprobe(x)", False),
        ("if a:\n    x = 1\nelse:\n    x = 2\nprobe(x)", True),
        ("if a:\n    x = 1\nelse:\n    raise E\nprobe(x)", True),
        ("for i in y:\n    x = 1\nprobe(x)", False),
        ("try:\n    x = 1\nexcept E:\n    pass\nprobe(x)", False),
        ("def f(x):\n    probe(x)", True),
        ("x = 1\ndef f():\n    probe(x)", False),
    ],
)
def test_a_name_is_surely_bound_when_no_way_passes_its_assignments_by(
    program: str, expected: bool
) -> None:
    context, node = probe(program)
    assert context.flow.surely_bound("x", node) is expected
