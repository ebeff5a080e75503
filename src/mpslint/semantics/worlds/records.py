"""Named tuples and data classes, as far as what they hold is float64 though nothing says so."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.worlds.expressions import Expressions
from mpslint.semantics.worlds.foreign import foreign
from mpslint.semantics.worlds.machines import ALL
from mpslint.semantics.worlds.numbers import Fields, tells
from mpslint.semantics.worlds.state import Class, Env
from mpslint.semantics.worlds.values import (
    CONST,
    INSTANCE,
    NAME,
    PARTIAL,
    SEQUENCE,
    UNK,
    Atom,
    Value,
    one,
    restrict,
)

_NAMED_TUPLE = "collections.namedtuple"
_MADE = f"{_NAMED_TUPLE}.made"
_TUPLES = frozenset({"typing.NamedTuple", "typing_extensions.NamedTuple"})


class Records(Expressions):
    def named_tuple(
        self, name: str, node: ast.Call, args: list[Value], keywords: Env
    ) -> Value | None:
        """`namedtuple("Step", "state reward")`, and what such a type makes; None: it is neither."""
        if name == _NAMED_TUPLE and len(args) > 1:
            fields = [Atom(CONST, field) for field in _listed(args[1])]
            made = Atom(NAME, _MADE)
            return Atom(PARTIAL, (made, [Atom(SEQUENCE, tuple(fields))], {})) if fields else None
        if name != _MADE:
            return None
        names = [str(one(item, ALL).v) for item in args[0].v]  # type: ignore[union-attr]
        given = self._given_by_name(node, names, args[1:], keywords)
        if not any(map(tells, given.values())):
            return None
        return Atom(SEQUENCE, Fields(names, [given.get(field, UNK) for field in names]))

    def record(self, cls: Class, node: ast.Call, args: list[Value], keywords: Env) -> Atom:
        """An object of a class that has no constructor of its own; what its fields are given is
        kept where it is float64."""
        names = _fields(cls) if _is_record(cls) else []
        given = self._given_by_name(node, names, args, keywords)
        wide = {field: value for field, value in given.items() if tells(value)}
        if wide and not _TUPLES.isdisjoint(cls.bases):
            return Atom(SEQUENCE, Fields(names, [given.get(field, UNK) for field in names]))
        for field, value in wide.items():
            if field in names:
                here = restrict(value, self.frame.mask)
                sites = cls.sites.setdefault(field, {})
                sites[id(node)] = here if cls.home is self else foreign(here, ())
                cls.cache.pop(field, None)
        return Atom(INSTANCE, cls)

    def _given_by_name(
        self, node: ast.Call, names: list[str], args: list[Value], keywords: Env
    ) -> Env:
        given: list[Value] = []
        for place, value in zip(node.args, args, strict=False):
            if not isinstance(place, ast.Starred):
                given.append(value)
                continue
            parts = one(self.each.pop(place, UNK), ALL)
            if parts.kind != SEQUENCE:
                break  # Nobody knows how many these are.
            given += parts.v
        return {**dict(zip(names, given, strict=False)), **keywords}


def _listed(value: Value) -> Iterable[str]:
    """The names of fields: `"state reward"`, `"state, reward"` or a list of them."""
    atom = one(value, ALL)
    if atom.kind == CONST and isinstance(atom.v, str):
        return atom.v.replace(",", " ").split()
    items = [one(item, ALL) for item in atom.v] if atom.kind == SEQUENCE else []
    known = all(item.kind == CONST and isinstance(item.v, str) for item in items)
    return [item.v for item in items] if known else []


def _is_record(cls: Class) -> bool:
    """Whether a class, or one that it is derived from, makes its constructor of its fields."""
    makers = (item.func if isinstance(item, ast.Call) else item for item in cls.node.decorator_list)
    return (
        not _TUPLES.isdisjoint(cls.bases)
        or any(last_name(maker) == "dataclass" for maker in makers)
        or any(map(_is_record, cls.parents))
    )


def _fields(cls: Class) -> list[str]:
    """The fields of a data class or of a named tuple, those of its bases first."""
    own = [
        item.target.id
        for item in cls.node.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    ]
    return [*(field for parent in cls.parents for field in _fields(parent)), *own]
