"""Moves of what is float64 by all that a file says of it, where no rule tells of them or no fix
casts: by way of helpers, generators, lambdas and loaders, or with the module that keeps it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from mpslint.basics.brief import brief
from mpslint.halfway.unread_arrays import NOT_MOVED, TENSORS
from mpslint.halfway.unread_parts import is_device
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import walk
from mpslint.semantics.wide.late_casts import late_casts
from mpslint.semantics.wide.sample_values import UNREAD, WIDE
from mpslint.sources.screening import moves_something

_WIDE = f"is float64 as it seems, which {NOT_MOVED}"
_DOUBT = f"may be float64, which {NOT_MOVED}"
_LATE = f"casts what may be float64 behind the move, which {NOT_MOVED}"
_LATER = f"is cast behind the move ({{}}), and may be float64, which {NOT_MOVED}"
_SEES = 60
_MAKES = re.compile(rb"\bnumpy\b|float64|double|sklearn")
_MAKES_OR_IS = re.compile(_MAKES.pattern + rb"|dtype ?= ?float\b")
_TENSORS = ("asarray", *TENSORS)
_HOST = ("cpu", "'cpu'")
_KEEPS = re.compile(rb"register_buffer|Parameter\(|pos_weight|from_pretrained|Buffer\(")
_BUFFER = "register_buffer"
_HOLDERS = frozenset({"Parameter", "Buffer", "from_pretrained"})
"""What keeps a tensor that it is given, and moves it with its module."""
_WEIGHTS = ("weight", "pos_weight")
"""What a loss keeps."""


def may_move(text: bytes) -> bool:
    if _KEEPS.search(text) is not None:
        return _MAKES_OR_IS.search(text) is not None
    return _MAKES.search(text) is not None and moves_something(text)


def wide_moves(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The rows of such moves."""
    from mpslint.semantics.wide.moved_kinds import MovedKinds

    prepared = _prepared(tree)
    moved = partial(moved_by, prepared)
    for call, kind in MovedKinds(tree, moved).kinds():
        # Of which dtype an array is that a module keeps no network shows.
        if kind == WIDE or (kind == UNREAD and last_name(call.func) == _BUFFER):
            why = _WIDE if kind == WIDE else _DOUBT
            yield call.lineno, f"{brief(ast.unparse(call), _SEES)} {why}"


def late_moves(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The rows of moves behind which a cast to float32 shows that it may be something else."""
    for late in late_casts(tree):
        if late.is_float and not late.is_apart:
            yield late.move.lineno, f"{brief(ast.unparse(late.cast), _SEES)} {_LATE}"
        elif late.is_float:
            moved, cast = brief(ast.unparse(late.move), _SEES), brief(ast.unparse(late.cast), _SEES)
            yield late.move.lineno, f"{moved} {_LATER.format(cast)}"


def _kept_by(call: ast.Call, told: dict[str | None, ast.expr]) -> ast.expr | None:
    """What a module keeps of what it is given here."""
    name = last_name(call.func) or ""
    if name == _BUFFER:
        return call.args[1] if len(call.args) > 1 else told.get("tensor")
    if name in _HOLDERS:
        return call.args[0] if call.args else told.get("data")
    if name.endswith("Loss"):
        return next((told[one] for one in _WEIGHTS if one in told), None)
    return None


def _prepared(tree: ast.Module) -> frozenset[str]:
    """The names of functions that `functools.partial` makes of others."""
    return frozenset(
        target.id
        for node in walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        if last_name(node.value.func) == "partial"
        for target in node.targets
        if isinstance(target, ast.Name)
    )


def moved_by(prepared: frozenset[str], call: ast.Call) -> ast.expr | None:
    """What a call moves, or a module keeps of what it is given by it, where no dtype is told: the
    call itself, where that makes what it moves. `prepared`: functions of a name that do so."""
    function = call.func
    told = {one.arg: one.value for one in call.keywords}
    kept = _kept_by(call, told)
    if kept is not None:
        return kept
    if "dtype" in told or None in told:
        return None
    if "device" in told and ast.unparse(told["device"]) not in _HOST:
        if isinstance(function, ast.Name) and function.id in prepared:
            return call
        if isinstance(function, ast.Attribute) and function.attr in _TENSORS:
            return call
    if isinstance(function, ast.Attribute):
        if function.attr == "cuda":
            return function.value
        if function.attr == "to" and is_device(call) and len(call.args) + len(told) == 1:
            return function.value
    return None
