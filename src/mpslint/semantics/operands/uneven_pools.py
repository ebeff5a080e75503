"""Adaptive average pools whose output may not divide their input, which MPS asks for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import keyword
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.parameters import defaults_of

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

SPEAKING_OF_POOLS = (b"adaptive_avg_pool", b"AdaptiveAvgPool")
_FUNCTIONS = tuple(f"torch.nn.functional.adaptive_avg_pool{n}d" for n in (1, 2))
_MODULES = tuple(f"torch.nn.AdaptiveAvgPool{n}d" for n in (1, 2))


def uneven_pools(context: Context) -> Iterator[ast.Call]:
    """Calls that pool to another size than 1, or to the input's own. What a caller may choose is
    taken for its default."""
    for call in context.calls_of(*_FUNCTIONS, *_MODULES):
        place = 1 if context.resolve(call.func) in _FUNCTIONS else 0
        size = keyword(call, "output_size")
        if size is None and len(call.args) > place:
            size = call.args[place]
        if size is not None and not all(_divides(context, item) for item in _items(size)):
            yield call


def _items(size: ast.expr) -> list[ast.expr]:
    return size.elts if isinstance(size, ast.Tuple | ast.List) else [size]


def _divides(context: Context, size: ast.expr) -> bool:
    if isinstance(size, ast.Constant):
        return size.value in (1, None)
    default = _default_of(context, size) if isinstance(size, ast.Name) else None
    return default is not None and all(
        isinstance(item, ast.Constant) and item.value in (1, None) for item in _items(default)
    )


def _default_of(context: Context, name: ast.Name) -> ast.expr | None:
    """The default of the parameter that a name is, in the function around it."""
    function = context.index.function(name)
    if not isinstance(function, FUNCTIONS):
        return None
    return next(
        (default for item, default in defaults_of(function.args) if item.arg == name.id), None
    )
