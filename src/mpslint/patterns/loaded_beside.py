"""What is loaded beside something else that stays where it was saved, and meets it: the two have to
come to the same device, whichever machine has saved them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import keyword, names_in, root_name

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_LOAD = "torch.load"
_HOPS = 3
"""So many names are followed, each for a part of what the one before holds."""
_NO_OPERATIONS = ("torch.save", "torch.load", "torch.is_tensor")


def meets_unplaced(context: Context, call: ast.Call) -> bool:
    """Whether the function around a load reads another file without `map_location`, and reckons
    with both."""
    function = context.index.function(call)
    others = [
        other
        for other in context.calls_of(_LOAD)
        if other is not call
        and context.index.function(other) is function
        and len(other.args) < 2
        and keyword(other, "map_location") is None
    ]
    if not others:
        return False
    mine = _names(context, call)
    return any(
        not mine.isdisjoint(one) and not theirs.isdisjoint(two)
        for theirs in (_names(context, other) for other in others)
        for sides in _operations(context, function)
        for one in sides
        for two in sides
        if one is not two
    )


def _names(context: Context, call: ast.Call) -> set[str]:
    """The names of what is loaded, and of parts of it."""
    function, found, hops = context.index.function(call), set[str](), 0
    size = -1
    while len(found) != size and hops <= _HOPS:
        size, hops = len(found), hops + 1
        for statement in context.index.of(ast.Assign):
            if context.index.function(statement) is function:
                if context.index.within(call, statement) or root_name(statement.value) in found:
                    found |= {
                        one.id
                        for target in statement.targets
                        for one in ast.walk(target)
                        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
                    }
    return found


def _operations(context: Context, function: ast.AST | None) -> Iterator[list[set[str]]]:
    """The names in each operand of what reckons with several."""
    for kind in (ast.BinOp, ast.Compare, ast.AugAssign, ast.Call):
        for node in context.index.of(kind):
            if context.index.function(node) is function:
                yield [names_in(side) for side in _sides(context, node)]


def _sides(context: Context, node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.AugAssign):
        return [node.target, node.value]
    assert isinstance(node, ast.Call)
    given = [*node.args, *(one.value for one in node.keywords)]
    name = context.resolve(node.func) or ""
    if name.startswith("torch."):
        parts = [one.elts if isinstance(one, ast.List | ast.Tuple) else [one] for one in given]
        return [] if name in _NO_OPERATIONS else [one for part in parts for one in part]
    return [node.func.value, *given] if isinstance(node.func, ast.Attribute) and not name else []
