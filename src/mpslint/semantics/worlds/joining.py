"""One value for several ways: where branches meet, where callers differ, where a Mac is ported."""

from __future__ import annotations

from mpslint.semantics.worlds.machines import (
    ALL,
    MAC,
    PORTED,
    mac_of_cuda,
    ported_of_cuda,
    ported_of_mac,
)
from mpslint.semantics.worlds.values import (
    BOT,
    CLASS,
    CONST,
    DEVICE,
    DTYPE,
    FUNCTION,
    INSTANCE,
    MAPPING,
    MODULE,
    NAME,
    NAMESPACE,
    SEQUENCE,
    SOME,
    STREAMED,
    TENSOR,
    UNK,
    UNKNOWN,
    Atom,
    Cases,
    Node,
    Tests,
    Value,
    cases_of,
    moved,
    one_of,
    pack,
    places,
    tested,
    where,
)

MAX_NODES = 6
"""So many places where a device was written are kept with a value; a message names one or two."""

OPEN = ("device", "open to MPS")
"""The symbol of a device that may be MPS as well as another."""

KEPT_ON_A_WAY = ("device", "unless something replaces it")
"""The symbol of a device that is written out, and that something unknown replaces on some way."""


def is_kept_on_a_way(value: Value) -> bool:
    return value.__class__ is Atom and value.symbol is KEPT_ON_A_WAY


def unless_replaced(before: Value | None, replaced: Value, kept: Value, met: Value) -> Value:
    """What a name stands for behind `if large: device = model.device`: of a CUDA device that was
    written out before, this is kept. A user's option that replaces it is the user's choice."""
    if met.__class__ is not Atom or met.kind != DEVICE or met.v != "cuda":
        return met
    if replaced.__class__ is not Atom or replaced.kind != UNKNOWN or replaced.symbol is not None:
        return met
    if kept.__class__ is not Atom or not (
        is_kept_on_a_way(kept) or (kept is before and not kept.maybe)
    ):
        return met
    return met.but(symbol=KEPT_ON_A_WAY)


def pick(m1: int, v1: Value, m2: int, v2: Value, tests: Tests, *, decided: bool = False) -> Value:
    """`v1` in the worlds of `m1`, `v2` in those of `m2`, either where both come here.

    `tests` are what parted them; what differs hangs on these. `decided`: one of them asked for MPS,
    so that what a Mac has is meant.
    """
    if v1 is v2:
        return v1
    both = m1 & m2
    cases: list[tuple[int, Atom]] = []
    # Where nobody comes the value is free: the first one there keeps most values in one piece.
    cases += cases_of(v1, ALL & ~m2)
    cases += cases_of(v2, m2 & ~m1)
    if both:
        for worlds, atom in cases_of(v1, both):
            cases += [(mask, join(atom, other)) for mask, other in cases_of(v2, worlds)]
    value = pack(cases)
    if value.__class__ is Cases:
        if tests and m1 != m2:
            value = pack([(worlds, _tagged(atom, tests)) for worlds, atom in cases_of(value)])
        return value if decided else port(value)
    return value


_TAGGED = frozenset({DEVICE, CONST, TENSOR, MODULE, SOME, UNKNOWN, NAME, DTYPE})


def _tagged(atom: Atom, tests: Tests) -> Atom:
    return tested(atom, tests) if atom.kind in _TAGGED else atom


_LISTS = frozenset({STREAMED, SEQUENCE})
_STRUCTURED = frozenset({NAME, FUNCTION, CLASS, INSTANCE, SEQUENCE, MAPPING, NAMESPACE})


def join(a: Atom, b: Atom) -> Atom:
    """One atom for two ways in the same world."""
    if a is b or b is BOT:
        return a
    if a is BOT:
        return b
    found = _joined(a, b)
    wrapped, unread = a.wrapped or b.wrapped, a.unread if a.unread == b.unread else ""
    if found.wrapped is wrapped and found.unread == unread:
        return found
    return found.but(wrapped=wrapped, unread=unread)


def _joined(a: Atom, b: Atom) -> Atom:
    if a.kind == b.kind and a.kind in (DEVICE, TENSOR, MODULE, CONST) and same_payload(a, b):
        if a.tests == b.tests and a.node is b.node and a.maybe == b.maybe:
            return a if a.scalar >= b.scalar else b
        made, scalar = a.made or b.made, a.scalar or b.scalar
        return Atom(
            a.kind,
            a.v,
            _both_nodes(a, b),
            a.tests | b.tests,
            a.maybe or b.maybe,
            made,
            scalar=scalar,
        )
    tests = a.tests | b.tests
    if a.kind == DEVICE or b.kind == DEVICE:
        return _joined_devices(a, b, tests)
    if a.kind == b.kind and a.kind in (TENSOR, MODULE):
        here, there = where(a), where(b)
        dtype = a.v[1] if a.v[1] == b.v[1] else None
        scalar = a.scalar or b.scalar
        return Atom(a.kind, (here if here == there else "?", dtype), a.node, tests, scalar=scalar)
    if a.kind == b.kind and (a.v is b.v or (a.kind == NAME and a.v == b.v)) and a.kind != CONST:
        if a.symbol == b.symbol and a.placed == b.placed:
            return a
        return a.but(
            symbol=a.symbol if a.symbol == b.symbol else None,
            placed=a.placed if a.placed == b.placed else None,
        )
    if a.kind == b.kind == SEQUENCE and len(a.v) == len(b.v):
        return Atom(SEQUENCE, tuple(map(_joined_parts, a.v, b.v)), None, tests)
    if STREAMED in (a.kind, b.kind) and a.kind in _LISTS and b.kind in _LISTS:
        return _joined_lists(a, b)
    # None, False or a text until it is set, or where an import fails.
    if a.kind in _STRUCTURED and b.kind == CONST:
        return a
    if b.kind in _STRUCTURED and a.kind == CONST:
        return b
    if UNKNOWN in (a.kind, b.kind) and CONST in (a.kind, b.kind):
        known = a.v if a.kind == UNKNOWN else b.v
        if known is not None:
            return one_of((a, b))
    return Atom(UNKNOWN, None, None, tests) if tests else UNK


def _joined_lists(a: Atom, b: Atom) -> Atom:
    """A list that is empty at first is what it is filled with."""
    if (a.kind == SEQUENCE and not a.v) or (b.kind == SEQUENCE and not b.v):
        return b if a.kind == SEQUENCE else a
    if a.kind != b.kind or None in (a.v, b.v):
        return UNK
    return Atom(STREAMED, _joined_parts(a.v, b.v))


def _joined_parts(a: Value, b: Value) -> Value:
    """What two lists have at the same place."""
    if a is b:
        return a
    return pack(
        [(mask, join(mine, item)) for at, mine in cases_of(a) for mask, item in cases_of(b, at)]
    )


def _joined_devices(a: Atom, b: Atom, tests: Tests) -> Atom:
    """A device, or something else: that device, perhaps. Where MPS can be had as well, the choice
    is open and nothing is missing."""
    named = {atom.v for atom in (a, b) if atom.kind == DEVICE}
    if "mps" not in named and OPEN not in (a.symbol, b.symbol):
        for backend in ("cuda", "cpu"):
            for atom in (a, b):
                if atom.kind == DEVICE and atom.v == backend:
                    return Atom(DEVICE, backend, atom.node, tests, True, atom.made)
    return Atom(DEVICE, "?", None, tests, True, symbol=OPEN)


def _both_nodes(a: Atom, b: Atom) -> Node:
    if a.node is b.node or b.node is None:
        return a.node
    if a.node is None:
        return b.node
    return tuple(dict.fromkeys((*places(a), *places(b))))[:MAX_NODES]


def same_payload(a: Atom, b: Atom) -> bool:
    return type(a.v) is type(b.v) and bool(a.v == b.v)


def port(value: Value) -> Value:
    """Where a value is on cuda in `CUDA` and not in `MAC`, it is on mps in `PORTED`."""
    if value.__class__ is Atom:
        return value
    on_cuda = on_mac = defined = 0
    for worlds, atom in cases_of(value):
        on = where(atom)
        if on == "cuda":
            on_cuda |= worlds
        if atom is not BOT:
            defined |= worlds
            if on != "cuda":
                on_mac |= worlds & MAC
    to_mps = on_cuda & PORTED & ported_of_cuda(on_cuda) & ported_of_mac(on_mac)
    if not to_mps:
        return value
    cases: list[tuple[int, Atom]] = []
    for worlds, atom in cases_of(value):
        if worlds & to_mps:
            cases.append((worlds & to_mps, moved(atom, "mps")))
        cases.append((worlds & ~to_mps, atom))
    return pack(cases)


def parted(value: Value, worlds: int) -> int:
    """The Mac's worlds, of `worlds`, in which a value is not on cuda (nor on mps, nor open) though
    it is on cuda with the same switches on a machine with CUDA."""
    on_cuda = elsewhere = 0
    for mask, atom in cases_of(value, worlds):
        on = where(atom)
        if on == "cuda":
            on_cuda |= mask
        elif atom.kind in (DEVICE, CONST) and on not in ("mps", "?"):
            elsewhere |= mask & MAC
    return mac_of_cuda(on_cuda) & elsewhere
