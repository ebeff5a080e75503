"""Calls of another file's functions that refuse to run without CUDA."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import last_name, only_raise
from mpslint.semantics.syntax.giving_up import gives_up
from mpslint.semantics.syntax.index import walk
from mpslint.semantics.worlds.machines import MAC, mac_of_ported
from mpslint.semantics.worlds.state import Place

if TYPE_CHECKING:
    from mpslint.semantics.worlds.core import Core
    from mpslint.semantics.worlds.state import Function


def _is_left_to_subclasses(node: ast.AST) -> bool:
    """Whether a method does nothing but raise `NotImplementedError`: what calls it on its object
    comes to the method of a class below, which comes back."""
    alone = only_raise(getattr(node, "body", ()))
    if alone is None:
        return False
    error = alone.exc
    error = error.func if isinstance(error, ast.Call) else error
    return isinstance(error, ast.Name) and error.id == "NotImplementedError"


def comes_back(function: Function, ends: int, *, bound: bool) -> bool:
    """Whether who calls a function may go on where it ends in an error: a decorator may catch what
    does not fit, and catches all else where it is of the file and tries what it is given; and a
    method of a class below may be meant. `ends`: the worlds that come back from the function."""
    decorators = function.node.decorator_list
    if function.misfits and (bound or decorators):
        return True
    if not ends and decorators and any(map(_goes_on, _defined(function, decorators))):
        return True
    return bound and _is_left_to_subclasses(function.node)


def _defined(function: Function, decorators: list[ast.expr]) -> list[ast.stmt]:
    names = [last_name(one.func if isinstance(one, ast.Call) else one) for one in decorators]
    return [one for one in function.home.tree.body if getattr(one, "name", "") in names]


def _goes_on(decorator: ast.stmt) -> bool:
    return any(
        isinstance(item, ast.Try) and not all(gives_up(one.body) for one in item.handlers)
        for item in walk(decorator)
    )


def refused_in(function: Function, before: int, ends: int) -> Place | None:
    """What keeps a Mac from coming back from a function of another file, where it is a test of the
    machine alone, which a port takes away; not a test of a device that somebody has chosen.
    `before`, `ends`: the worlds that call it, and those that come back from it at all."""
    home: Core | None = function.home
    if home is None or home.project is None or ends & MAC:
        return None
    if not before & MAC & mac_of_ported(before & ends):
        return None
    tests = function.end_tests
    if not tests.isdisjoint(home.device_tests):
        return None
    asking = sorted(tests & home.cuda_tests, key=_place)
    return Place(home.project.path, asking[0].lineno) if asking else None


def _place(test: ast.expr) -> tuple[int, int]:
    return test.lineno, test.col_offset
