"""What a value is: an `Atom`, the same in all worlds, or `Cases`, an atom for each set of worlds.

Over nine values in ten are atoms, so that most of a program costs nothing for the other worlds.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from mpslint.facts.priors import decorator_worlds
from mpslint.semantics.worlds.machines import ALL, NVIDIA, spell

Tests = frozenset[ast.expr]
NO_TESTS: Tests = frozenset()

# Kinds of atoms. A device, a tensor and a module know where they are.
UNKNOWN, NOTHING, CONST, SOME, HOST, DEVICE, TENSOR, MODULE, ARRAY, DTYPE = (
    "unknown", "nothing", "const", "some", "host", "device", "tensor", "module", "array", "dtype",
)  # fmt: skip
NAME, FUNCTION, CLASS, INSTANCE, BOUND, LAMBDA, SEQUENCE, MAPPING, NAMESPACE = (
    "name", "function", "class", "instance", "bound", "lambda", "sequence", "mapping", "namespace",
)  # fmt: skip
PARSER, STREAM, FILE, MEMORY, PLATFORM, SKIP = (
    "parser", "stream", "file", "memory", "platform", "skip",
)  # fmt: skip
STREAMED, ENVIRONMENT, STEP = "streamed", "environment", "step"
"""What gives one thing after another, each like `v`; None: like what a loader puts on the CPU."""
STATE = "state"
"""The table of a module's tensors, each of which is like `v`."""
PARTIAL = "partial"

Node = ast.expr | tuple[ast.expr, ...] | None
Placed = tuple[str, str | None] | None
Symbol = tuple[object, object]
"""What an unknown value is of: a parameter, an option, an attribute of something unknown. It is
(whose, name), or ("not", ...) for the opposite of another."""


MAX_CHOICES = 16
"""Of so many constants one may be told apart from what is none of them; a longer list is data."""


def one_of(items: tuple[Atom, ...]) -> Atom:
    """What is one of these constants, whichever it is; anything, where they are not all plain."""
    known: dict[object, None] = {}
    tests = NO_TESTS
    for atom in items:
        if atom.kind == UNKNOWN and atom.v is not None:
            known.update(dict.fromkeys(atom.v))
        elif atom.kind == CONST and not atom.maybe and isinstance(atom.v, str | int | None):
            known[atom.v] = None
        else:
            return UNK
        tests |= atom.tests
    if len(known) == 1 and len({type(atom.v) for atom in items}) == 1:
        return Atom(CONST, next(iter(known)), None, tests)
    return Atom(UNKNOWN, tuple(known), None, tests) if len(known) <= MAX_CHOICES else UNK


def negated(symbol: Symbol) -> Symbol:
    """The symbol of `not x`."""
    return symbol[1] if symbol[0] == "not" else ("not", symbol)  # type: ignore[return-value]


BARE = "bare"
"""In place of a module's dtype: it has neither parameters nor buffers."""


ANSWER, ENTRY, NUMBERED = "answer", "entry", "numbered"
ONE_OF_THEM = "one of them"


class Atom:
    """A value as it is in some worlds."""

    __slots__ = (
        "kind", "made", "maybe", "node", "placed", "scalar", "symbol", "tests", "unread",
        "v", "wrapped",
    )  # fmt: skip

    def __init__(
        self,
        kind: str,
        v: Any = None,
        node: Node = None,
        tests: Tests = NO_TESTS,
        maybe: bool = False,
        made: bool = False,
        symbol: Symbol | None = None,
        placed: Placed = None,
        scalar: bool = False,
        wrapped: ast.Call | None = None,
        unread: str = "",
    ) -> None:
        self.kind = kind
        self.v = v
        """What it is, by kind: the constant, the device's type, (device, dtype) of a tensor...; of
        what is unknown the constants that it may be, where these are known."""
        self.node = node
        """Where the literal, or the literals, of a device stand."""
        self.tests = tests
        """The tests of the machine or of a device that decided it."""
        self.maybe = maybe
        """A default: a user or a caller may have chosen otherwise."""
        self.made = made
        """A `torch.device`, not only its name."""
        self.symbol = symbol
        self.placed = placed
        """Of an object of a class that is a module: where it was moved, and its dtype."""
        self.scalar = scalar
        """A tensor that may be without dimensions: it may meet tensors of other devices."""
        self.wrapped = wrapped
        """The `DataParallel(...)` that it stands in, at least on some way: it has a `.module`."""
        self.unread = unread
        """`ANSWER`: what a module gives whose class is out of sight, or a part of it by number;
        `ENTRY`: what that keeps under a text, which may as well be an array; of a device
        `NUMBERED`: `torch.device("cuda", 0)`, whose number is not in its text; of a tensor
        `ONE_OF_THEM`: a loop takes others as well; of a number which kind of number it is."""

    def but(self, **changed: Any) -> Atom:
        """The same but for these fields."""
        new = Atom.__new__(Atom)
        new.kind, new.v, new.node = self.kind, self.v, self.node
        new.tests, new.maybe, new.made = self.tests, self.maybe, self.made
        new.symbol, new.placed, new.scalar = self.symbol, self.placed, self.scalar
        new.wrapped, new.unread = self.wrapped, self.unread
        for name, value in changed.items():
            setattr(new, name, value)
        return new

    def __repr__(self) -> str:
        return f"{self.kind}:{self.v}{'?' if self.maybe else ''}"


class Cases:
    """Atoms by disjoint sets of worlds, which together are all worlds."""

    __slots__ = ("cases",)

    def __init__(self, cases: tuple[tuple[int, Atom], ...]) -> None:
        self.cases = cases

    def __repr__(self) -> str:
        return f"<{', '.join(f'{spell(worlds)} {atom}' for worlds, atom in self.cases)}>"


Value = Atom | Cases

UNK = Atom(UNKNOWN)
BOT = Atom(NOTHING)
"""No value: these worlds do not come here."""
NONE = Atom(CONST, None)
TRUE = Atom(CONST, True)
FALSE = Atom(CONST, False)
ON_HOST = Atom(HOST)
"""A number or a text on the host, no tensor."""

_OPAQUE = frozenset({SEQUENCE, MAPPING, NAMESPACE, PARSER})


def cases_of(value: Value, worlds: int = ALL) -> Iterator[tuple[int, Atom]]:
    """The atoms that a value is in some of `worlds`, each with these worlds."""
    if value.__class__ is Cases:
        for mask, atom in value.cases:
            if mask & worlds:
                yield mask & worlds, atom
    elif worlds:
        yield worlds, value  # type: ignore[misc]


def one(value: Value, worlds: int) -> Atom:
    """The atom of a value in `worlds`: the first one that it may be there."""
    if value.__class__ is Atom:  # Most values are, and a generator costs more than the answer.
        return value if worlds else BOT
    for mask, atom in value.cases:  # type: ignore[union-attr]
        if mask & worlds and atom is not BOT:
            return atom
    return BOT


def same(a: Atom, b: Atom) -> bool:
    return a is b or (
        a.kind == b.kind
        and a.kind not in _OPAQUE
        and type(a.v) is type(b.v)
        and a.v == b.v
        and a.maybe == b.maybe
        and a.tests == b.tests
        and a.node is b.node
        and a.symbol == b.symbol
        and a.made == b.made
        and a.placed == b.placed
        and a.scalar == b.scalar
        and a.wrapped is b.wrapped
        and a.unread == b.unread
    )


def pack(cases: list[tuple[int, Atom]]) -> Value:
    """A value from disjoint cases; worlds in none of them have no value."""
    merged: list[list[Any]] = []
    seen = 0
    for worlds, atom in cases:
        if not worlds:
            continue
        seen |= worlds
        for item in merged:
            if same(item[1], atom):
                item[0] |= worlds
                break
        else:
            merged.append([worlds, atom])
    if seen != ALL:
        for item in merged:
            if item[1] is BOT:
                item[0] |= ALL & ~seen
                break
        else:
            merged.append([ALL & ~seen, BOT])
    if len(merged) == 1:
        only: Atom = merged[0][1]
        return only
    return Cases(tuple((worlds, atom) for worlds, atom in merged))


def lift(function: Callable[..., Atom], *values: Value) -> Value:
    """`function` of atoms, applied for each set of worlds in which the values are one thing."""
    for value in values:
        if value.__class__ is Cases:
            break
    else:
        return function(*values)
    parts: list[tuple[int, tuple[Atom, ...]]] = [(ALL, ())]
    for value in values:
        if value.__class__ is Atom:
            parts = [(mask, (*atoms, value)) for mask, atoms in parts]
        else:
            parts = [
                (mask & other, (*atoms, atom))
                for mask, atoms in parts
                for other, atom in value.cases  # type: ignore[union-attr]
                if mask & other
            ]
    return pack([(mask, function(*atoms)) for mask, atoms in parts])


def by_world(function: Callable[[int, Atom], Value], value: Value) -> Value:
    """As `lift`, for functions that give another value for other worlds: of (worlds, atom)."""
    found: list[tuple[int, Atom]] = []
    for worlds, atom in cases_of(value):
        found += cases_of(function(worlds, atom), worlds)
    return pack(found)


def restrict(value: Value, worlds: int) -> Value:
    """The value in `worlds`, nothing elsewhere."""
    if worlds == ALL:
        return value
    return pack(list(cases_of(value, worlds)))


def tested(atom: Atom, tests: Tests) -> Atom:
    """The atom, hanging on these tests as well."""
    if not tests or atom is BOT or tests <= atom.tests:
        return atom
    if atom is UNK:
        return Atom(UNKNOWN, None, None, tests)
    return atom.but(tests=atom.tests | tests)


def device(where: str, node: Node = None, tests: Tests = NO_TESTS, maybe: bool = False) -> Atom:
    """A device by its type; `?` is one that is not known."""
    return Atom(DEVICE, where, node, tests, maybe)


def tensor(
    where: str, dtype: str | None = None, tests: Tests = NO_TESTS, *, scalar: bool = False
) -> Atom:
    return Atom(TENSOR, (where, dtype), None, tests, scalar=scalar)


def where(atom: Atom) -> str | None:
    """The type of the device that an atom is, or is on."""
    if atom.kind == DEVICE:
        return str(atom.v)
    if atom.kind == TENSOR or atom.kind == MODULE:
        return str(atom.v[0])
    if atom.kind == INSTANCE and atom.placed is not None:
        return atom.placed[0]
    return None


def dtype_of(atom: Atom) -> str | None:
    """The dtype of a tensor, a module or an array, where it is known."""
    if atom.kind in (TENSOR, MODULE):
        return atom.v[1]  # type: ignore[no-any-return]
    if atom.kind == ARRAY:
        return atom.v  # type: ignore[no-any-return]
    if atom.kind == INSTANCE and atom.placed is not None:
        return atom.placed[1]
    return None


def moved(atom: Atom, to: str) -> Atom:
    """The atom on another device."""
    if atom.kind == DEVICE:
        return atom.but(v=to)
    if atom.kind == INSTANCE:
        return atom.but(placed=(to, dtype_of(atom)))
    return atom.but(v=(to, *atom.v[1:]))


class AsIs(ast.Constant):
    """A device written out, in a trial: one that the machine lacks is not taken for mended."""


def places(atom: Atom) -> tuple[ast.expr, ...]:
    """Where the literals of an atom stand."""
    if atom.node is None:
        return ()
    return atom.node if isinstance(atom.node, tuple) else (atom.node,)


def truth(atom: Atom) -> bool | None:
    """Whether an atom is true; None: not known."""
    kind = atom.kind
    if kind == CONST:
        return None if atom.maybe else bool(atom.v)
    if kind in (SOME, FUNCTION, CLASS, INSTANCE, BOUND):
        return True
    if kind == NAME:
        return None if atom.maybe else True
    if kind == DEVICE:
        return None if atom.maybe or atom.v == "?" else True
    return None


def whose_options(atom: Atom) -> int:
    """What the options of a parser, and those that it gives, are known by: where it is made. A
    function that is run again makes another one, whose switches are the same."""
    return id(atom.v if atom.node is None else atom.node)


def is_none(value: Value) -> bool:
    return value.__class__ is Atom and value.kind == CONST and value.v is None


def holds_device(value: Value, worlds: int = ALL) -> bool:
    """Whether a value is a device, in some of `worlds`."""
    if value.__class__ is Atom:
        return value.kind == DEVICE and bool(worlds)
    return any(atom.kind == DEVICE for _, atom in cases_of(value, worlds))


def left_by_marks(value: Value) -> int:
    """The worlds that a mark of a test (`pytest.mark.skipif(...)`), or a list of marks, leaves."""
    left = ALL
    for worlds, atom in cases_of(value):
        if atom.kind == SKIP:
            left &= atom.v | ~worlds
        elif atom.kind == SEQUENCE:
            for item in atom.v:
                left &= left_by_marks(item)
        elif atom.kind == NAME and text_of(atom).startswith("pytest.mark."):
            if decorator_worlds(text_of(atom).rpartition(".")[2]) == "cuda":
                left &= NVIDIA | ~worlds
    return left


def is_counted_zero(atom: Atom) -> bool:
    """A 0 that the machine answers: so many devices it has."""
    return atom.kind == CONST and type(atom.v) is int and atom.v == 0 and bool(atom.tests)


def is_text(atom: Atom) -> bool:
    """A text that is written out, be it too long to be kept, or the name of a device."""
    return atom.kind in (DEVICE, HOST) or (atom.kind == CONST and isinstance(atom.v, str))


def text_of(atom: Atom) -> str:
    """The text, or the qualified name, that an atom is; empty for anything else, such as a number
    that is too long to be written out."""
    return atom.v if atom.v.__class__ is str else ""


def is_bare(value: Value) -> bool:
    """Whether this is a module with nothing in it that could be moved."""
    return all(atom.kind == MODULE and atom.v[1] == BARE for _, atom in cases_of(value))
