"""Adaptive average pools in three dimensions that leave one cell, which ATen computes as a mean.

`AdaptiveAvgPool3d(1)` does so for each input; `AdaptiveAvgPool3d((None, 1, 1))`, which leaves the
first dimension as it is, does where another pool has left one of that just before.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import keyword

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_PLACES = {"AdaptiveAvgPool3d": 0, "adaptive_avg_pool3d": 1}
_POOLS = ("torch.nn.AdaptiveAvgPool3d", "torch.nn.AdaptiveMaxPool3d")
_DIMENSIONS = 3
_Sizes = tuple[object, ...]


def leaves_one_cell(context: Context, call: ast.Call, name: str) -> bool:
    """Whether a call, or the module that it makes, pools to one cell on the average."""
    place = _PLACES.get(name.rsplit(".", 1)[-1])
    sizes = _sizes(call, place) if place is not None else None
    if sizes is None:
        return False
    kept = [at for at, size in enumerate(sizes) if size is None]
    if any(size not in (1, None) for size in sizes) or len(kept) == _DIMENSIONS:
        return False
    if not kept:
        return True
    attribute = _kept_as(context, call)
    return attribute is not None and _meets_one(context, attribute, kept)


def _sizes(call: ast.Call, place: int) -> _Sizes | None:
    """What is written for each dimension; None: it is not."""
    size = keyword(call, "output_size")
    if size is None and len(call.args) > place:
        size = call.args[place]
    items = size.elts if isinstance(size, ast.Tuple | ast.List) else [size] * _DIMENSIONS
    if len(items) != _DIMENSIONS or not all(isinstance(item, ast.Constant) for item in items):
        return None
    return tuple(item.value for item in items if isinstance(item, ast.Constant))


def _kept_as(context: Context, call: ast.Call) -> ast.Attribute | None:
    """`self.pool` of `self.pool = nn.AdaptiveAvgPool3d(...)`."""
    statement = context.index.parents[call]
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    return target if isinstance(target, ast.Attribute) else None


def _meets_one(context: Context, pool: ast.Attribute, kept: list[int]) -> bool:
    """Whether each use of a pool is given what another one has just made, which leaves one cell in
    the dimensions that are `kept`."""
    owner = context.index.enclosing(pool, ast.ClassDef)
    uses = [
        use
        for use in context.index.attributes.get(pool.attr, ())
        if isinstance(use.ctx, ast.Load) and context.index.enclosing(use, ast.ClassDef) is owner
    ]
    return bool(uses) and all(_is_given_one(context, use, owner, kept) for use in uses)


def _is_given_one(
    context: Context, use: ast.Attribute, owner: ast.AST | None, kept: list[int]
) -> bool:
    call = context.index.parents[use]
    if not isinstance(call, ast.Call) or call.func is not use or len(call.args) != 1:
        return False
    value: ast.expr | None = call.args[0]
    if isinstance(value, ast.Name):
        bindings = context.flow.reaching(value)
        value = bindings[0].value if len(bindings) == 1 else None
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    made = [
        parent.value
        for store in context.index.attributes.get(value.func.attr, ())
        if isinstance(store.ctx, ast.Store)
        and context.index.enclosing(store, ast.ClassDef) is owner
        and isinstance(parent := context.index.parents[store], ast.Assign)
    ]
    return bool(made) and all(_pools_to_one(context, one, kept) for one in made)


def _pools_to_one(context: Context, made: ast.expr, dimensions: list[int]) -> bool:
    if not isinstance(made, ast.Call) or context.resolve(made.func) not in _POOLS:
        return False
    sizes = _sizes(made, 0)
    return sizes is not None and all(sizes[at] == 1 for at in dimensions)
