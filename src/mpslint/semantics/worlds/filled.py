"""Lists that a program fills, a number or an array at a time."""

from __future__ import annotations

import ast

from mpslint.semantics.worlds.expressions import Expressions, any_of
from mpslint.semantics.worlds.foreign import foreign
from mpslint.semantics.worlds.machines import ALL
from mpslint.semantics.worlds.numbers import each_of, tells
from mpslint.semantics.worlds.state import Class
from mpslint.semantics.worlds.values import (
    ARRAY,
    INSTANCE,
    SEQUENCE,
    STREAMED,
    UNK,
    UNKNOWN,
    Atom,
    Value,
    lift,
    one,
    restrict,
)

ADDING = frozenset({"append", "appendleft", "extend", "insert"})
"""Methods of a list that put something into it."""


class Filled(Expressions):
    def added_to(self, place: ast.expr, held: Atom, method: str, value: Value) -> None:
        """What a list is once something is added that a tensor of it is wide by."""
        new = _items(one(value, ALL)) if method == "extend" else (value,)
        items = (*_items(held), *new)
        if not any(map(tells, items)):
            return
        each = each_of(items)
        filled = Atom(STREAMED, each if each is not None else lift(any_of, *items))
        if isinstance(place, ast.Name):
            if place.id in self.frame.env:
                self.frame.env[place.id] = filled
            return
        if not isinstance(place, ast.Attribute):
            return
        key = self.key(place)
        if key is not None and key in self.frame.env:
            self.frame.env[key] = filled
        owner = one(self.eval(place.value), self.frame.mask)
        if owner.kind == INSTANCE:
            here = restrict(filled, self.frame.mask)
            sites = owner.v.sites.setdefault(place.attr, {})
            sites[id(place)] = here if owner.v.home is self else foreign(here, ())
            owner.v.cache.pop(place.attr, None)


def never_filled(held: Atom) -> bool:
    """Whether nothing is seen to be stored in an attribute of an object of the program's own: it
    was made by a constructor that nobody looks at."""
    return held.kind == UNKNOWN and held.symbol is not None and isinstance(held.symbol[0], Class)


def _items(held: Atom) -> tuple[Value, ...]:
    if never_filled(held):
        return ()
    if held.kind == SEQUENCE:
        return held.v  # type: ignore[no-any-return]
    if held.kind == STREAMED:
        return (held.v,) if held.v is not None else (UNK,)
    return (held,) if held.kind == ARRAY else (UNK,)
