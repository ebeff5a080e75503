"""Tests that are skipped whatever the machine is: `@pytest.mark.skip(reason="later")`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.uses.defined import definitions_around
from mpslint.semantics.worlds.skip_marks import SKIPS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_MARKS = "pytestmark"
"""Fact: pytest's name for the marks of all tests of a module."""
_FIXTURE = "pytest.fixture"


def is_unrun_test(context: Context, row: int) -> bool:
    """Whether a line stands in a test, or in a class of tests, that is marked so; or in a test or a
    fixture of a module whose tests all are."""
    around = [item.node for item in definitions_around(context, row)]
    marks = [mark for node in around for mark in node.decorator_list]
    if any(_skips(context, mark) for mark in marks):
        return True
    is_of_tests = any(node.name.startswith(("test", "Test")) for node in around) or any(
        _name(context, mark) == _FIXTURE for mark in marks
    )
    return is_of_tests and _skips_all(context)


def _skips_all(context: Context) -> bool:
    known = context.memo.get("skips all tests")
    if known is None:
        given = [
            item.value
            for item in context.tree.body
            if isinstance(item, ast.Assign)
            and any(isinstance(one, ast.Name) and one.id == _MARKS for one in item.targets)
        ]
        once = len(given) == len(context.index.names.get(_MARKS, ())) == 1
        known = context.memo["skips all tests"] = once and any(
            _skips(context, mark)
            for mark in (given[0].elts if isinstance(given[0], ast.List | ast.Tuple) else given)
        )
    return bool(known)


def _skips(context: Context, mark: ast.expr) -> bool:
    return _name(context, mark) in SKIPS


def _name(context: Context, mark: ast.expr) -> str | None:
    return context.resolve(mark.func if isinstance(mark, ast.Call) else mark)
