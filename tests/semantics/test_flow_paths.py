"""Odd ways on which an assignment reaches a use, or does not."""

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
        ("x = 1\nif a:\n    x = 2\nelif b:\n    x = 3\nprobe(x)", {"1", "2", "3"}),
        (
            "x = 1\nif a:\n    x = 2\nelif b:\n    x = 3\nelse:\n    x = 4\nprobe(x)",
            {"2", "3", "4"},
        ),
        ("x = 1\nif a:\n    x = 2\n    probe(x)\nelse:\n    x = 3", {"2"}),
        ("x = 1\nif a:\n    x = 2\nelse:\n    probe(x)", {"1"}),
        ("def f():\n    x = 1\n    if a:\n        x = 2\n        return x\n    probe(x)", {"1"}),
        ("def f():\n    x = 1\n    if a:\n        x = 2\n        raise E\n    probe(x)", {"1"}),
        ("x = 1\nif a: x = 2\nprobe(x)", {"1", "2"}),
        ("x = 1; x = 2; probe(x)", {"2"}),
        ("x = y = 1\nprobe(x)", {"1"}),
        ("x = 1\nx += 2\nprobe(x)", {"2"}),
    ],
)
def test_branches_add_what_they_assign_unless_they_leave(program: str, expected: set[str]) -> None:
    assert reaching(program) == expected


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("x = 1\nwhile a:\n    probe(x)\n    x = 2", {"1", "2"}),
        ("x = 1\nfor i in y:\n    x = 2\n    probe(x)", {"2"}),
        ("x = 1\nfor i in y:\n    x = 2\n    break\nprobe(x)", {"1", "2"}),
        (
            "x = 1\nfor i in y:\n    if i:\n        x = 2\n        continue\n    probe(x)",
            {"1", "2"},
        ),
        ("x = 1\nfor i in y:\n    pass\nelse:\n    x = 2\nprobe(x)", {"1", "2"}),
        ("x = 1\nfor x in y:\n    pass\nprobe(x)", {"1", "y"}),
        ("for x in y:\n    for x in z:\n        probe(x)", {"z"}),
        ("async def f():\n    async for x in y:\n        probe(x)", {"y"}),
    ],
)
def test_loops_come_round_again(program: str, expected: set[str]) -> None:
    assert reaching(program) == expected


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("x = 1\ntry:\n    x = 2\nexcept E:\n    probe(x)", {"1", "2"}),
        ("x = 1\ntry:\n    x = 2\n    x = 3\nexcept E:\n    probe(x)", {"1", "2", "3"}),
        ("x = 1\ntry:\n    x = 2\nfinally:\n    probe(x)", {"1", "2"}),
        ("x = 1\ntry:\n    x = 2\nexcept E:\n    x = 3\nelse:\n    x = 4\nprobe(x)", {"3", "4"}),
        ("x = 1\ntry:\n    x = 2\nexcept E:\n    pass\nelse:\n    probe(x)", {"2"}),
        ("x = 1\ntry:\n    pass\nexcept E:\n    x = 2\nprobe(x)", {"1", "2"}),
        ("x = 1\ntry:\n    pass\nfinally:\n    x = 2\nprobe(x)", {"2"}),
        ("try:\n    pass\nexcept E as x:\n    probe(x)", {"E"}),
        ("x = 1\nwith a:\n    x = 2\nprobe(x)", {"2"}),
        ("with a as x, b as x:\n    probe(x)", {"a", "b"}),
        ("with a as (x, y):\n    probe(x)", {"a"}),
    ],
)
def test_a_try_may_stop_anywhere(program: str, expected: set[str]) -> None:
    assert reaching(program) == expected


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("x = 1\nmatch a:\n    case 1:\n        x = 2\nprobe(x)", {"1", "2"}),
        (
            "x = 1\nmatch a:\n    case 1:\n        x = 2\n    case other:\n        x = 3\nprobe(x)",
            {"2", "3"},
        ),
        ("x = 1\nmatch a:\n    case _ if b:\n        x = 2\nprobe(x)", {"1", "2"}),
        ("x = 1\nmatch a:\n    case [x]:\n        probe(x)", {""}),
        ("x = 1\nmatch a:\n    case [x]:\n        pass\nprobe(x)", {"", "1"}),
        ("x = 1\nmatch a:\n    case [x]:\n        pass\n    case 2:\n        probe(x)", {"1"}),
        ("x = 1\nif (x := 2):\n    probe(x)", {"2"}),
        ("x = 1\nprobe(x) if (x := 2) else 3", {"2"}),
        ("x = 1\ny = (x := 2)\nprobe(x)", {"2"}),
        ("x = 1\nif a and (x := 2):\n    probe(x)", {"2"}),
        ("x = 1\nif a or (x := 2):\n    probe(x)", {"1", "2"}),
        ("x = 1\nif a and (x := 2):\n    pass\nprobe(x)", {"1", "2"}),
        ("x = 1\nif (x := 2):\n    pass\nprobe(x)", {"2"}),
        ("x = 1\nif (x := 2) and probe(x):\n    pass", {"2"}),
        ("x = 1\nif probe(x) and (x := 2):\n    pass", {"1"}),
        ("x = 1\nwhile (x := 2):\n    probe(x)\n    x = 3", {"2"}),
        ("x = 1\nif a:\n    pass\nelif (x := 2):\n    probe(x)", {"2"}),
        ("x = 1\nwith (x := a):\n    probe(x)", {"a"}),
        ("x = 1\nfor i in (x := a):\n    probe(x)", {"a"}),
        ("x = 1\nmatch (x := a):\n    case 1:\n        probe(x)", {"a"}),
        ("x = 1\ny = 3 if a else (x := 2)\nprobe(x)", {"1", "2"}),
        ("x = 1\n[probe(x) for x in y]", {"y"}),
        ("x = 1\n[x for x in y]\nprobe(x)", {"1"}),
        ("x = 1\n[(x := i) for i in y]\nprobe(x)", {"1", "i"}),
        ("x = 1\nx = 2\ny = [probe(x) for i in z]\nx = 3", {"2"}),
        ("x = 1\nx = {k: v for k, v in probe(x)}", {"1"}),
        ("x = 1\ny = sum([probe(x) for i in z] for j in z)\nx = 2", {"1"}),
        ("x = 1\ny = (probe(x) for i in z)\nx = 2", {"1", "2"}),
        ("x = 1\ny = [lambda: probe(x) for i in z]\nx = 2", {"1", "2"}),
        ("x = 1\nf = lambda x=2: probe(x)", {"2"}),
        ("x = 1\ndef f():\n    x = 2\nprobe(x)", {"1"}),
        ("x = 1\ndef f():\n    global x\n    x = 2\nprobe(x)", {"1", "2"}),
        ("x = 1\nclass C:\n    x = 2\n    probe(x)", {"2"}),
        ("x = 1\nclass C:\n    x = 2\n    def f(self):\n        probe(x)", {"1"}),
        ("def f(x, *, y=1):\n    probe(y)", {"1"}),
        ("def f(*x):\n    probe(x)", {""}),
        ("x = 1\ndel x\nx = 2\nprobe(x)", {"2"}),
        (
            "def f():\n    x = 1\n    def g():\n        nonlocal x\n        x = 2\n    probe(x)",
            {"1", "2"},
        ),
    ],
)
def test_other_statements_bind_where_python_says(program: str, expected: set[str]) -> None:
    assert reaching(program) == expected


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("while a:\n    x = 1\nprobe(x)", False),
        ("with a as x:\n    pass\nprobe(x)", True),
        ("try:\n    x = 1\nfinally:\n    pass\nprobe(x)", True),
        ("try:\n    x = 1\nexcept E:\n    raise\nprobe(x)", True),
        ("try:\n    pass\nfinally:\n    x = 1\nprobe(x)", True),
        ("if a:\n    x = 1\nelse:\n    sys.exit()\nprobe(x)", True),
        ("if a:\n    x = 1\nelif b:\n    x = 2\nprobe(x)", False),
        ("match a:\n    case 1:\n        x = 1\nprobe(x)", False),
        ("match a:\n    case 1:\n        x = 1\n    case _:\n        x = 2\nprobe(x)", True),
        ("x = 1\ndel x\nprobe(x)", False),
        ("probe(x)\nx = 1", False),
    ],
)
def test_a_name_may_be_unbound_on_one_way_there(program: str, expected: bool) -> None:
    context, node = probe(program)
    assert context.flow.surely_bound("x", node) is expected
