"""Places where Python reads the number of a tensor without a method that says so.

`range(t)`, `int(t)`, `math.sqrt(t)`, a bound of a slice, an index into a list, the size or the fill
value of a factory, `max(t)` of Python's own, an `alpha`, an element of a NumPy array that is given
it: each asks the tensor for its value, one number at a time, and waits for it as `.item()` does.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from mpslint.records import NamedTuple
from mpslint.semantics.syntax.expressions import argument, keyword
from mpslint.semantics.terms.value import Kind

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_NUMBERS = ("int", "range")
"""Builtins that ask each argument for a number."""
_ELEMENTS = ("max", "min", "sorted", "any", "all")
"""Builtins that ask their one argument for its elements, or compare what they are given."""
_SCALED = ("add_", "sub_", "add", "sub")
"""Methods of tensors that multiply the second operand by a number of Python's, `alpha`."""
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
            if not any(isinstance(item, ast.Starred) for item in call.args):
                yield from (Read(call, argument) for argument in call.args)
    for name in _SCALED:
        for call in context.index.calls.get(name, ()):
            factor = _factor(call)
            if factor is not None and runs_often(call):
                yield Read(call, factor)
    for call in _of_libraries(context):
        if runs_often(call):
            yield from _of_call(context.resolve(call.func) or "", call)
    arrays = b"numpy" in context.source.data
    for statement in context.index.of(ast.AugAssign, ast.Assign) if arrays else ():
        given = _given_to_array(context, statement)
        if given is not None and runs_often(given):
            yield Read(given, given)
    for item in context.index.of(ast.Subscript):
        asked = list(_asked_by(item))
        if asked and runs_often(item):
            for part in asked:
                if part is not item.slice or _is_list(context, item.value):
                    yield Read(item, part)


def compared(context: Context, name: str) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Calls of Python's own `max` or `min` that compare several things, one of them computed by a
    kernel, and that one: where a tensor is divided by the result, or the like, which would do on
    the device. Who needs a number, for a size, has to wait."""
    for call in context.index.calls.get(name, ()):
        if len(call.args) < 2 or call.keywords or not _is_builtin(context, call, name):
            continue
        around = context.index.parents[call]
        if not isinstance(around, ast.BinOp):
            continue
        other = around.left if around.right is call else around.right
        if context.values.of(other).kind is not Kind.TENSOR:
            continue
        for item in call.args:
            value = context.values.of(item)
            if value.kind is Kind.TENSOR and value.computed and not value.by_use:
                yield call, item
                break


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
        fill = argument(call, 1, "fill_value")
        if fill is not None:
            yield Read(call, fill)
    elif name in _MADE_OF and call.args:
        yield from (Read(call, item) for item in _parts(call.args[0]))


def _factor(call: ast.Call) -> ast.expr | None:
    """`r` of `p.add_(v, alpha=r)`, and of the old `p.add_(r, v)`."""
    if not isinstance(call.func, ast.Attribute):
        return None
    named = keyword(call, "alpha")
    if named is None and len(call.args) == 2 and call.func.attr.endswith("_"):
        return call.args[0]
    return named


def _given_to_array(context: Context, statement: ast.stmt) -> ast.expr | None:
    """`t` of `losses[i] += t` and `losses[i] = t`, where `losses` is an array of NumPy's."""
    if not isinstance(statement, ast.Assign | ast.AugAssign):
        return None
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    if len(targets) != 1 or not isinstance(targets[0], ast.Subscript):
        return None
    if isinstance(statement.value, ast.Constant):
        return None
    array = targets[0].value
    return statement.value if context.values.of(array).kind is Kind.NDARRAY else None


def _is_builtin(context: Context, call: ast.Call, name: str) -> bool:
    return isinstance(call.func, ast.Name) and context.names.owner(name, call.func) is None


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.List | ast.Tuple):
        yield from node.elts
    elif isinstance(node, ast.ListComp):
        yield node.elt


def _asked_by(item: ast.Subscript) -> Iterator[ast.expr]:
    """Bounds, and the place in what may be a list."""
    if isinstance(item.slice, ast.Slice | ast.Tuple):
        parts = item.slice.elts if isinstance(item.slice, ast.Tuple) else [item.slice]
        for part in parts:
            if isinstance(part, ast.Slice):
                bounds = (part.lower, part.upper, part.step)
                yield from (b for b in bounds if b and not isinstance(b, ast.Constant))
    elif not isinstance(item.slice, ast.Constant | ast.UnaryOp):
        if isinstance(item.value, (ast.Name, *_LISTS)):
            yield item.slice


def places_in_arrays(context: Context) -> Iterator[tuple[ast.expr, ast.expr]]:
    """`i` and `j` of `counts[i, j]` and `counts[i][j]`, with the whole: a place in an array of
    NumPy's has to be a number of Python's, for which it asks what it is given."""
    if b"numpy" not in context.source.data:
        return
    for item in context.index.of(ast.Subscript):
        parts = item.slice.elts if isinstance(item.slice, ast.Tuple) else [item.slice]
        places = [part for part in parts if isinstance(part, ast.Name | ast.Subscript)]
        if places and context.values.of(item.value).kind is Kind.NDARRAY:
            yield from ((item, place) for place in places)


def _is_list(context: Context, node: ast.expr) -> bool:
    """A list or tuple that this file writes out: a dictionary only hashes what it is asked for."""
    written = [node]
    if isinstance(node, ast.Name):
        bindings = context.flow.reaching(node)
        if any(binding.kind != "assign" for binding in bindings):
            return False
        written = [binding.value for binding in bindings if binding.value is not None]
    return bool(written) and all(isinstance(one, _LISTS) for one in written)
