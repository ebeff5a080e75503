"""Results as large as the data says that are made twice of the same: each waits for its size.

`order = torch.nonzero(gates).sort(0)[1]` and, further down, `torch.nonzero(gates)[order]`: what the
first has found can have a name.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from mpslint.records import NamedTuple
from mpslint.semantics.values.sized_by_data import ALWAYS, SOMETIMES, is_sized_by_data

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


class CountedTwice(NamedTuple):
    node: ast.Call
    first: ast.Call
    """What has made the same before."""


def counted_twice(
    context: Context, runs_often: Callable[[ast.AST], bool]
) -> Iterator[CountedTwice]:
    """Those that run often, of torch's functions."""
    for name in (*ALWAYS, *SOMETIMES):
        known: dict[str, list[ast.Call]] = {}
        for call in context.index.calls.get(name, ()):
            if not (context.resolve(call.func) or "").startswith("torch."):
                continue
            if not is_sized_by_data(context.names, context.values, call):
                continue
            text = ast.dump(call)
            first = next((one for one in known.get(text, ()) if _is_same(context, one, call)), None)
            if first is None:
                known.setdefault(text, []).append(call)
            elif runs_often(call):
                yield CountedTwice(call, first)


def _is_same(context: Context, first: ast.Call, second: ast.Call) -> bool:
    """Whether two calls that are written alike, in one block, work on the same numbers: names that
    were given the same value, to which nothing was done between them."""
    one, other = context.index.statement(first), context.index.statement(second)
    block = context.index.block(one)
    if other not in block or not _are_alike(context, first, second):
        return False
    names = {item.id for item in ast.walk(first) if isinstance(item, ast.Name)}
    between = block[block.index(one) : block.index(other)]
    return not any(_may_change(item, names) for part in between for item in ast.walk(part))


def _are_alike(context: Context, first: ast.Call, second: ast.Call) -> bool:
    pairs = zip(ast.walk(first), ast.walk(second), strict=True)
    return all(
        context.flow.reaching(a) == context.flow.reaching(b)
        for a, b in pairs
        if isinstance(a, ast.Name) and isinstance(b, ast.Name)
    ) and not any(isinstance(item, ast.Attribute) and _is_kept(item) for item in ast.walk(first))


def _is_kept(item: ast.Attribute) -> bool:
    """`self.mask`, which a call between the two may change."""
    return isinstance(item.value, ast.Name) and item.value.id == "self"


def _may_change(node: ast.AST, names: set[str]) -> bool:
    """`mask[0] = 1`, `mask.fill_(0)`, `mask |= other`"""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        return isinstance(node.value, ast.Name) and node.value.id in names
    if isinstance(node, ast.AugAssign):
        return isinstance(node.target, ast.Name) and node.target.id in names
    return (
        isinstance(node, ast.Attribute)
        and node.attr.endswith("_")
        and isinstance(node.value, ast.Name)
        and node.value.id in names
    )
