"""Places where Python reads the number of a tensor without a method that says so.

`range(t)`, `int(t)`, `math.sqrt(t)`, a bound of a slice, an index into a list, the size or the fill
value of a factory, `max(t)` of Python's own: each asks the tensor for its value, one number at a
time, and waits for it as `.item()` does.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from mpslint.semantics.value_syntax import keyword

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_NUMBERS = ("int", "range")
"""Builtins that ask each argument for a number."""
_ELEMENTS = ("max", "min", "sorted")
"""Builtins that compare the elements of their one argument with each other."""
_SIZED = ("torch.zeros", "torch.ones", "torch.empty", "torch.rand", "torch.randn", "torch.arange")
_FILLED = ("torch.full", "torch.full_like")
_MADE_OF = ("torch.tensor", "torch.as_tensor", "torch.FloatTensor", "torch.LongTensor")


_GUARDS = ("math.isnan", "math.isinf", "math.isfinite")
"""Whether training goes on is asked at each step, and cannot wait."""


_OF_MATH = frozenset(name for name in dir(math) if not name.startswith("_"))
_NAMES = frozenset(name.rpartition(".")[2] for name in (*_SIZED, *_FILLED, *_MADE_OF))


_LISTS = (ast.List, ast.Tuple, ast.ListComp)


class Read(NamedTuple):
    node: ast.expr
    """What asks for the number."""
    tensor: ast.expr


def implicit_reads(context: Context, runs_often: Callable[[ast.expr], bool]) -> Iterator[Read]:
    """Those that run often; whether `tensor` is one on a device is for the caller to ask."""
    for name in (*_NUMBERS, *_ELEMENTS):
        for call in context.index.calls.get(name, ()):
            if not _is_builtin(context, call, name) or not runs_often(call):
                continue
            if name in _NUMBERS or len(call.args) == 1:
                yield from (Read(call, argument) for argument in call.args)
    for call in _of_libraries(context):
        if runs_often(call):
            yield from _of_call(context.resolve(call.func) or "", call)
    for item in context.index.of(ast.Subscript):
        if not isinstance(item.slice, ast.Constant) and runs_often(item):
            yield from _of_index(context, item)


def _of_libraries(context: Context) -> Iterator[ast.Call]:
    """Calls by the name of one of these functions, and of what comes from `math`."""
    for name, calls in context.index.calls.items():
        if name in _NAMES:
            yield from calls
        elif name in _OF_MATH:
            yield from (call for call in calls if len(call.args) == 1)


def _of_call(name: str, call: ast.Call) -> Iterator[Read]:
    if (name.startswith("math.") and name not in _GUARDS) or name in _SIZED:
        yield from (Read(call, argument) for argument in call.args)
    elif name in _FILLED:
        fill = keyword(call, "fill_value") or (call.args[1] if len(call.args) > 1 else None)
        if fill is not None:
            yield Read(call, fill)
    elif name in _MADE_OF and call.args:
        yield from (Read(call, item) for item in _parts(call.args[0]))


def _is_builtin(context: Context, call: ast.Call, name: str) -> bool:
    return isinstance(call.func, ast.Name) and context.names.owner(name, call.func) is None


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.List | ast.Tuple):
        yield from node.elts
    elif isinstance(node, ast.ListComp):
        yield node.elt


def _of_index(context: Context, item: ast.Subscript) -> Iterator[Read]:
    parts = item.slice.elts if isinstance(item.slice, ast.Tuple) else [item.slice]
    for part in parts:
        if isinstance(part, ast.Slice):
            for bound in (part.lower, part.upper, part.step):
                if bound is not None:
                    yield Read(item, bound)
        elif part is item.slice and _is_list(context, item.value):
            yield Read(item, part)


def _is_list(context: Context, node: ast.expr) -> bool:
    """A list or tuple that this file writes out: a dictionary only hashes what it is asked for."""
    written = [node]
    if isinstance(node, ast.Name):
        written = [b.value for b in context.flow.reaching(node) if b.value is not None]
    return bool(written) and all(isinstance(one, _LISTS) for one in written)
