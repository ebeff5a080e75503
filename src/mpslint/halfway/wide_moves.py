"""Moves of what is float64 by all that a file says of it, where no rule tells of them or no fix
casts: by way of helpers, generators, lambdas and loaders.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from mpslint.basics.brief import brief
from mpslint.halfway.unread_arrays import TENSORS
from mpslint.halfway.unread_parts import is_device
from mpslint.sources.screening import moves_something

_WIDE = "is float64 as it seems, which cannot be moved to MPS"
_SEES = 60
_MAKES = re.compile(rb"\bnumpy\b|float64|double|sklearn")
_TENSORS = ("asarray", *TENSORS)
_HOST = ("cpu", "'cpu'")


def may_move(text: bytes) -> bool:
    return _MAKES.search(text) is not None and moves_something(text)


def wide_moves(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The rows of such moves."""
    from mpslint.semantics.wide.moved_kinds import MovedKinds

    for call in MovedKinds(tree, _moved_by).wide():
        yield call.lineno, f"{brief(ast.unparse(call), _SEES)} {_WIDE}"


def _moved_by(call: ast.Call) -> ast.expr | None:
    function = call.func
    told = {one.arg: one.value for one in call.keywords}
    if "dtype" in told or None in told:
        return None
    if "device" in told and ast.unparse(told["device"]) not in _HOST:
        if isinstance(function, ast.Name):
            return call
        if isinstance(function, ast.Attribute) and function.attr in _TENSORS:
            return call
    if isinstance(function, ast.Attribute):
        if function.attr == "cuda":
            return function.value
        if function.attr == "to" and is_device(call) and len(call.args) + len(told) == 1:
            return function.value
    return None
