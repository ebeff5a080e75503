"""Configurations: values under keys, in mappings and in objects that have them as attributes."""

from __future__ import annotations

from mpslint.semantics.worlds.numbers import wide_one
from mpslint.semantics.worlds.values import (
    CONST,
    DEVICE,
    MAPPING,
    NAMESPACE,
    SEQUENCE,
    STREAMED,
    UNK,
    Atom,
    Value,
    by_world,
    lift,
    tested,
)

KEEPING = frozenset({MAPPING, NAMESPACE})
"""Kinds that hold values under keys."""
MAX_NESTED = 6
"""Configurations in configurations are followed so deep; one may hold itself."""
_COPIES = frozenset({"copy", "clone", "deepcopy"})
_READS = frozenset({"get", "pop", "setdefault"})


def configuration(args: list[Value], keywords: dict[str, Value]) -> Atom | None:
    """An object that has the items of these mappings, and the keywords, as attributes; None where
    one of the mappings is not known."""
    items = merged(args, keywords)
    return _with_attributes(items, MAX_NESTED) if items is not None else None


def overridden(args: list[Value]) -> Atom | None:
    """Several configurations in one, of which some are not known (what a user says on the command
    line): what the others hold is a default."""
    known = [value for value in args if value.__class__ is Atom and value.kind in KEEPING]
    if len(args) < 2 or not known:
        return None
    items: dict[object, Value] = {}
    for value in known:
        items.update(value.v)
    return Atom(NAMESPACE, {key: lift(_perhaps, value) for key, value in items.items()}, maybe=True)


def merged(args: list[Value], keywords: dict[str, Value]) -> Atom | None:
    """`dict(...)` of mappings and keywords; None where one of the mappings is not known."""
    items: dict[object, Value] = {}
    for value in args:
        if value.__class__ is not Atom or value.kind not in KEEPING:
            return None
        items.update(value.v)
    return Atom(MAPPING, {**items, **keywords})


def asked(owner: Atom, name: str, args: list[Value], keywords: dict[str, Value]) -> Value | None:
    """What a method of a mapping, or of a configuration, gives; None: it is another method."""
    if owner.kind not in KEEPING:
        return None
    if name in _COPIES and not args:
        return owner
    if name in ("items", "values") and (wide := wide_one(owner.v.values())) is not None:
        return Atom(STREAMED, wide if name == "values" else Atom(SEQUENCE, (UNK, wide)))
    if name == "update":
        more = merged(args, keywords)
        owner.v.update(more.v if more is not None else keywords)
        return UNK
    if name in _READS and args:
        # `{"mps": "cpu"}.get(device.type, device.type)`: another key on each machine.
        return by_world(lambda _, key: _under(owner, key, args[1:]), args[0])
    return None


def _under(owner: Atom, key: Atom, default: list[Value]) -> Value:
    found = setting(owner, key.v) if key.kind in (CONST, DEVICE) else None
    if found is None:
        return lift(_perhaps, default[0]) if default else UNK
    return lift(lambda atom: tested(atom, key.tests), found) if key.tests else found


def setting(owner: Atom, key: object) -> Value | None:
    """What is kept under a key. A flag or a number in a configuration is what its users set it
    to."""
    found: Value | None = owner.v.get(key)
    return None if found is not None and owner.maybe and _is_plain(found) else found


def _is_plain(value: Value) -> bool:
    return value.__class__ is Atom and value.kind == CONST


def _perhaps(atom: Atom) -> Atom:
    return atom.but(maybe=True) if atom.kind == DEVICE else UNK


def _with_attributes(mapping: Atom, depth: int) -> Atom:
    items = {
        name: _with_attributes(item, depth - 1)
        if depth and item.__class__ is Atom and item.kind == MAPPING
        else item
        for name, item in mapping.v.items()
    }
    return Atom(NAMESPACE, items, maybe=True)
