"""What a part of a sample is, as far as that decides whether a batch of such samples is float64:
a kind, or a row, a table or many of these.

Source: `torch/utils/data/_utils/collate.py` (a batch of Python's fractions is float64, and one of
NumPy's arrays and numbers keeps their dtype); NEP 50 for what is computed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from mpslint.records import NamedTuple

WHOLE = "whole"
"""A whole number, a truth or a text."""
UNREAD = "unread"
"""A tensor of an array of which nobody knows the dtype."""
NARROW = "narrow"
"""A tensor or an array of a dtype that MPS has."""
INTEGERS = "integers"
"""An array of whole numbers."""
PLAIN = "plain"
"""A number of Python's with a point."""
WIDE = "wide"
"""An array or a number of NumPy's, or a tensor, that is float64."""
PICTURE = "picture"
"""A picture of PIL's, which no batch is made of."""
GENERATOR = "generator"
"""What draws numbers as the functions of `numpy.random` do."""
ANY = "any"
"""Nobody knows."""
ARRAYS = (WIDE, UNREAD, NARROW, INTEGERS)
"""What has a dtype of its own."""
WORST = (WIDE, PLAIN, ANY, PICTURE, UNREAD, NARROW, INTEGERS, WHOLE, GENERATOR)
_BITS = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)


class Row(NamedTuple):
    parts: tuple[Value, ...]


class Many(NamedTuple):
    each: Value | None


class Table(NamedTuple):
    keys: dict[str, Value]


Value = str | Row | Many | Table


def together(first: Value | None, second: Value | None) -> Value | None:
    """What is either of two; None is nothing yet."""
    if first is None or second is None or first == second:
        return second if first is None else first
    if isinstance(first, Many) and isinstance(second, Many):
        return Many(together(first.each, second.each))
    if isinstance(first, Row) and isinstance(second, Row):
        if len(first.parts) == len(second.parts):
            pairs = zip(first.parts, second.parts, strict=True)
            return Row(tuple(together(*pair) or ANY for pair in pairs))
    if isinstance(first, Table) and isinstance(second, Table):
        keys = dict.fromkeys((*first.keys, *second.keys))
        return Table({key: _either(first, second, key) for key in keys})
    return _worse(worst(first), worst(second))


def _either(first: Table, second: Table, key: str) -> Value:
    return together(first.keys.get(key), second.keys.get(key)) or ANY


def all_together(values: Iterable[Value | None]) -> Value | None:
    found: Value | None = None
    for value in values:
        found = together(found, value)
    return found


def worst(value: Value | None) -> str:
    """The kind of a value, or the one in it that speaks most for float64."""
    if value is None:
        return NARROW
    if isinstance(value, str):
        return value
    parts: Iterable[Value | None] = (
        value.parts
        if isinstance(value, Row)
        else value.keys.values()
        if isinstance(value, Table)
        else (value.each,)
    )
    kinds = {worst(part) for part in parts} or {WHOLE}
    return min(kinds, key=WORST.index)


def _worse(first: str, second: str) -> str:
    return min(first, second, key=WORST.index)


def each(value: Value | None) -> Value | None:
    """One of what a value holds."""
    if isinstance(value, Many):
        return value.each
    if isinstance(value, Row):
        return all_together(value.parts)
    if isinstance(value, Table):
        return all_together(value.keys.values())
    return ANY if value == PLAIN else value


def part(value: Value | None, at: int) -> Value | None:
    """What a value has at a place."""
    if isinstance(value, Row):
        return value.parts[at] if -len(value.parts) <= at < len(value.parts) else ANY
    return each(value)


def array_of(value: Value | None) -> str:
    """The array that NumPy makes of a value."""
    kind = worst(value)
    return {PLAIN: WIDE, WHOLE: INTEGERS, PICTURE: INTEGERS}.get(kind, kind)


def computed(operator: ast.operator, left: str, right: str) -> str:
    both = {left, right}
    if not both.isdisjoint((NARROW, UNREAD)):
        return ANY if WIDE in both else UNREAD if UNREAD in both else NARROW
    if isinstance(operator, _BITS):
        return INTEGERS if INTEGERS in both else WHOLE
    if ANY in both:
        return ANY
    if WIDE in both or both == {PLAIN, INTEGERS}:
        return WIDE
    if isinstance(operator, ast.Div):
        return WIDE if INTEGERS in both else PLAIN
    return min(both, key=WORST.index)
