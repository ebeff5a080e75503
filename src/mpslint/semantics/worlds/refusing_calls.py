"""Calls of another file's functions that refuse to run without CUDA."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import only_raise
from mpslint.semantics.worlds.machines import MAC, mac_of_ported
from mpslint.semantics.worlds.state import Place

if TYPE_CHECKING:
    from mpslint.semantics.worlds.core import Core
    from mpslint.semantics.worlds.state import Function


def is_left_to_subclasses(node: ast.AST) -> bool:
    """Whether a method does nothing but raise `NotImplementedError`: what calls it on its object
    comes to the method of a class below, which comes back."""
    alone = only_raise(getattr(node, "body", ()))
    if alone is None:
        return False
    error = alone.exc
    error = error.func if isinstance(error, ast.Call) else error
    return isinstance(error, ast.Name) and error.id == "NotImplementedError"


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
