"""Errors that are raised without CUDA, and the handlers that catch them."""

from __future__ import annotations

import ast
import builtins

from mpslint.facts.runtime import error_of
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.worlds.events import Kind

ANY_ERROR = "BaseException"
"""The kind of an error that is not known."""
EVERY_ERROR = frozenset({ANY_ERROR})


def kinds_of(node: ast.expr | None) -> frozenset[str]:
    """The last names of the errors that a handler names; of one that names none, of them all."""
    if node is None:
        return frozenset({ANY_ERROR})
    items = node.elts if isinstance(node, ast.Tuple) else [node]
    return frozenset(last_name(item) or ANY_ERROR for item in items)


def may_catch(kinds: frozenset[str], error: str) -> bool:
    """Whether who names these kinds may catch such an error: one that is not Python's may be any
    kind, and any handler may be for it."""
    raised = getattr(builtins, error, None)
    if not isinstance(raised, type) or error == ANY_ERROR:
        return True
    for kind in kinds:
        caught = getattr(builtins, kind, None)
        if isinstance(caught, type) and issubclass(raised, caught):
            return True
    return False


_LACKING = frozenset({Kind.PLACED, Kind.KEPT, Kind.MOVED})
"""What raises "Torch not compiled with CUDA enabled", an `AssertionError`, on a Mac."""


def is_dealt_with(caught: frozenset[str], kind: Kind, name: str) -> bool:
    """Whether a handler around catches what an event of this kind raises on a Mac: `except
    RuntimeError:` lets an `AssertionError` by."""
    if not caught:
        return False
    error = "AssertionError" if kind in _LACKING else error_of(name) or ANY_ERROR
    return may_catch(caught, error)
