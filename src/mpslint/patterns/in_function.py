"""A device that one function selects, or asks a helper for, once, in front of its first use."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from mpslint.patterns.insertion import insert_before
from mpslint.patterns.layout import arms, broken_arms
from mpslint.patterns.text import indent_unit, line_limit
from mpslint.semantics.index import FUNCTIONS, LOOPS

if TYPE_CHECKING:
    from mpslint.model import Edit
    from mpslint.semantics.context import Context
    from mpslint.semantics.index import FunctionNode

_NAMES = ("device", "torch_device", "default_device", "selected_device")


class Own(NamedTuple):
    """A name of one function, and the line that binds it."""

    name: str
    edit: Edit


def outermost(context: Context, node: ast.AST) -> FunctionNode | None:
    """The function around `node` that stands in no other."""
    found = None
    for parent in context.index.ancestors(node):
        if isinstance(parent, FUNCTIONS):
            found = parent
    return found


def selection(
    context: Context, node: ast.AST, places: Iterable[ast.AST], torch: str, chain: str
) -> Own | None:
    """A selection of the function around `node`: `chain`, a conditional expression of strings.
    `places`: all that need a device in the file."""
    return _bound(context, node, places, f"{torch}.device", chain)


def kept(context: Context, node: ast.AST, places: Iterable[ast.AST], call: str) -> Own | None:
    """What a helper gives, kept by the function around `node`."""
    return _bound(context, node, places, "", call)


def asks_often(context: Context, node: ast.AST, places: Iterable[ast.AST]) -> bool:
    """Whether the function around `node` needs the device in a loop, or more than once."""
    function = outermost(context, node)
    mine = [place for place in places if outermost(context, place) is function]
    return len(mine) > 1 or any(
        isinstance(parent, LOOPS) and context.index.within(parent, function)
        for place in mine
        for parent in context.index.ancestors(place)
        if function is not None
    )


def _bound(
    context: Context, node: ast.AST, places: Iterable[ast.AST], function: str, value: str
) -> Own | None:
    owner = outermost(context, node)
    if owner is None or not any(context.index.within(node, item) for item in owner.body):
        return None
    needing = [
        place for place in (node, *places) if place is owner or context.index.within(place, owner)
    ]
    first = _first(context, owner.body, needing)
    taken = {item.id for item in ast.walk(owner) if isinstance(item, ast.Name)}
    taken |= {item.arg for item in ast.walk(owner) if isinstance(item, ast.arg)}
    name = next((name for name in _NAMES if name not in taken), None)
    if name is None or first is None:
        return None
    source = context.source
    indent = source.indentation(first.lineno)
    lines = _lines(context, f"{name} = ", function, value, indent)
    edit = insert_before(context, first, lines)
    return Own(name, edit) if edit is not None else None


def _first(context: Context, block: list[ast.stmt], needing: list[ast.AST]) -> ast.stmt | None:
    """The first statement that needs the device: in the arm that alone needs it, where one does."""

    def needs(item: ast.AST) -> bool:
        return any(place is item or context.index.within(place, item) for place in needing)

    first = next((item for item in block if needs(item)), None)
    arms = [first.body, first.orelse] if isinstance(first, ast.If) else []
    for arm in arms:
        inside = [p for p in needing if any(context.index.within(p, item) for item in arm)]
        if len(inside) == len(needing) and not _is_elif(context, arm):
            return _first(context, arm, needing)
    return first


def _is_elif(context: Context, arm: list[ast.stmt]) -> bool:
    parent = context.index.parents[arm[0]] if arm else None
    return (
        isinstance(parent, ast.If)
        and arm == parent.orelse
        and arm[0].col_offset == parent.col_offset
    )


def _lines(context: Context, head: str, function: str, value: str, indent: str) -> list[str]:
    """`device = torch.device(...)`, without its indentation, in as few lines as fit."""
    source = context.source
    limit, unit = line_limit(source), indent_unit(source)
    whole = f"{head}{function}({value})" if function else f"{head}{value}"
    width = len(indent.expandtabs())
    if not function or width + len(whole) <= limit:
        return [whole]
    body = [value]
    if width + len(unit) + len(value) > limit:
        body = broken_arms(source, arms(value), indent + unit).split(source.newline)
    return [f"{head}{function}(", *(f"{unit}{line.strip()}" for line in body), ")"]
