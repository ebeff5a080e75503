"""Checks behind a switch for debugging: who turns it on wants them, whatever they cost.

Python's own (`python -O`) is one that nobody thinks of. A test that asks for it and for something
else, or a variable of the module that is made of it, is there to be turned.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import names_in
from mpslint.semantics.syntax.index import FUNCTIONS, walk

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_DEBUG = "__debug__"


def is_debugging(context: Context, node: ast.AST) -> bool:
    """Whether a switch has to be on for a node: around it, or where its function returns first."""
    return any(_asks_switch(context, test) for test in _tests_before(context, node))


def _tests_before(context: Context, node: ast.AST) -> Iterator[ast.expr]:
    child = node
    for parent in context.index.ancestors(node):
        if isinstance(parent, ast.If) and child is not parent.test:
            yield parent.test
        if isinstance(parent, FUNCTIONS):
            for statement in parent.body:
                if statement is child:
                    return
                if isinstance(statement, ast.If) and isinstance(statement.body[-1], ast.Return):
                    yield statement.test
            return
        child = parent


def _asks_switch(context: Context, test: ast.expr) -> bool:
    names = [item.id for item in walk(test) if isinstance(item, ast.Name)]
    if _DEBUG in names:
        return len(names) > 1
    return any(
        binding.value is not None and _is_made_of(binding.value)
        for name in names
        for binding in context.names.module.bindings.get(name, ())
    )


def _is_made_of(value: ast.expr) -> bool:
    return _DEBUG in names_in(value)
