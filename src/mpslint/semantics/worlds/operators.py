"""What operators make of values that are one thing in all worlds."""

from __future__ import annotations

from mpslint.facts.arrays import INTEGERS, REAL, combined_with_complex
from mpslint.facts.complex_numbers import COMPLEX, is_complex, met_by_number
from mpslint.semantics.worlds.configurations import setting
from mpslint.semantics.worlds.joining import join
from mpslint.semantics.worlds.loaded import entry, is_loaded
from mpslint.semantics.worlds.numbers import kind_of
from mpslint.semantics.worlds.values import (
    ANSWER,
    ARRAY,
    CONST,
    DEVICE,
    ENTRY,
    FALSE,
    HOST,
    MAPPING,
    NAMESPACE,
    ON_HOST,
    SEQUENCE,
    STATE,
    STREAMED,
    TENSOR,
    TRUE,
    UNK,
    UNKNOWN,
    Atom,
    Value,
    is_counted_zero,
    is_text,
    lift,
    negated,
    tensor,
    tested,
    truth,
    whose_options,
)


def logical_and(a: Atom, b: Atom) -> Atom:
    """`a and b`"""
    known = truth(a)
    if known is False:
        return a
    if known is True:
        return tested(b, a.tests)
    tests = a.tests | b.tests
    if truth(b) is False:
        return tested(FALSE, tests)
    if truth(b) is True and a.symbol is not None and b.kind == CONST:
        return tested(a, tests)
    return Atom(UNKNOWN, None, None, tests) if tests else UNK


def logical_or(a: Atom, b: Atom) -> Atom:
    """`a or b`"""
    known = truth(a)
    if known is True:
        return a
    if known is False:
        return tested(b, a.tests)
    if truth(b) is True and b.kind == CONST:
        return tested(TRUE, a.tests | b.tests)
    if truth(b) is False and a.symbol is not None:
        return tested(a, b.tests)
    return join(a, b)


def logical_not(atom: Atom) -> Atom:
    known = truth(atom)
    if known is None:
        symbol = negated(atom.symbol) if atom.symbol is not None else None
        return Atom(UNKNOWN, None, None, atom.tests, symbol=symbol)
    return Atom(CONST, not known, None, atom.tests)


def bitwise_and(a: Atom, b: Atom) -> Atom:
    """`a & b`, which is `a and b` where both are truth values."""
    return logical_and(a, b) if _are_answers(a, b) else arithmetic(a, b)


def bitwise_or(a: Atom, b: Atom) -> Atom:
    """`a | b`, in the same way."""
    return logical_or(a, b) if _are_answers(a, b) else arithmetic(a, b)


def _are_answers(a: Atom, b: Atom) -> bool:
    """Whether one is plainly true or false, or hangs on a test, and the other may be either."""
    both = a, b
    return all(
        atom.kind == UNKNOWN or (atom.kind == CONST and type(atom.v) is bool) for atom in both
    ) and any(atom.kind == CONST or atom.tests for atom in both)


def negative(atom: Atom) -> Atom:
    if atom.kind == CONST and isinstance(atom.v, int | float):
        return Atom(CONST, -atom.v, atom.node)
    return atom if atom.kind in (TENSOR, ARRAY, DEVICE) or kind_of(atom) is not None else UNK


def goes_on_as_word(text: object) -> bool:
    """Whether what stands behind the name of a device makes another word of it:
    `device + "_time_total"`. A number may follow, or a colon."""
    return isinstance(text, str) and text != "" and text[0] != ":" and not text[0].isdigit()


def arithmetic(a: Atom, b: Atom) -> Atom:
    """`a + b` and its like."""
    if a.kind == DEVICE:  # "cuda:" + str(i), "cuda:%d" % i
        return ON_HOST if b.kind == CONST and goes_on_as_word(b.v) else a
    if a.kind == TENSOR or b.kind == TENSOR:
        left, right = (a, b) if a.kind == TENSOR else (b, a)
        if right.kind == TENSOR and right.v[0] != left.v[0]:
            return tensor("?")
        wide = right.kind == TENSOR and right.v[1] != left.v[1]
        scalar = left.scalar and (right.kind != TENSOR or right.scalar)
        dtype = met_by_number(left.v[1]) if kind_of(right) == COMPLEX else left.v[1]
        return tensor(left.v[0], None if wide else dtype, scalar=scalar)
    if a.kind == ARRAY or b.kind == ARRAY:
        array, other = (a, b) if a.kind == ARRAY else (b, a)
        if kind_of(other) == COMPLEX:
            return Atom(ARRAY, combined_with_complex(array.v), scalar=array.scalar)
        if other.kind == ARRAY and is_complex(array.v) != is_complex(other.v):
            return _with_complex(array, other)
        if array.v in INTEGERS and _is_float64(other):
            return other if other.kind == ARRAY else Atom(ARRAY, "float64")
        if other.kind == ARRAY and other.v == "float64" and not (array.scalar or other.scalar):
            return other if array.v == "float64" else other.but(maybe=True)
        if other.kind == ARRAY and array.v == "float64" and not (array.scalar or other.scalar):
            return array if other.v in INTEGERS else array.but(maybe=True)
        # A single number follows the arrays that it meets.
        plain = other.kind in (CONST, HOST) or kind_of(other) is not None
        return array if not array.scalar or plain else _met(other)
    if a.kind == SEQUENCE and b.kind == SEQUENCE:
        return Atom(SEQUENCE, (*a.v, *b.v), None, a.tests | b.tests)
    if a.kind == CONST and b.kind == CONST:
        if type(a.v) is str and type(b.v) is str and not (a.maybe or b.maybe):
            return Atom(CONST, a.v + b.v)  # "mmcv." + "_ext"
        return ON_HOST
    return UNK


def multiplied(a: Atom, b: Atom) -> Atom:
    """`a * b`: of 0 devices there is nothing. What is asked of the product stays open: that the
    count is 0 is told where it does harm, and what comes next is what a Mac comes to then."""
    for none, other in ((a, b), (b, a)):
        if is_counted_zero(none) and (other.kind == UNKNOWN or type(other.v) in (int, float)):
            return none.but(maybe=True)
    return arithmetic(a, b)


def divided(a: Atom, b: Atom) -> Atom:
    """`a / b`: of whole numbers NumPy makes float64."""
    found = arithmetic(a, b)
    return Atom(ARRAY, "float64") if found.kind == ARRAY and found.v in INTEGERS else found


def _is_float64(atom: Atom) -> bool:
    """A number with a point, or an array of NumPy's own kind of them."""
    return kind_of(atom) == REAL or (atom.kind == ARRAY and atom.v == "float64")


def _with_complex(a: Atom, b: Atom) -> Atom:
    """Of two arrays one of which is complex."""
    wide = {a.v, b.v} & {"complex128", "float64"}
    known = None not in (a.v, b.v) and not (a.scalar or b.scalar)
    return Atom(ARRAY, "complex128" if wide and known else None, scalar=a.scalar and b.scalar)


def _met(other: Atom) -> Atom:
    return other if other.kind == ARRAY else UNK


def picked(atom: Atom, index: Atom) -> Value:
    """An item, hanging on the tests that chose it."""
    return lift(lambda item: tested(item, index.tests), element(atom, index))


def _chosen_with(held: Atom, item: Value) -> Value:
    """An item of a list; a device has been chosen by what chose the list."""
    if item.__class__ is not Atom or item.kind != DEVICE or not held.tests:
        return item
    return item.but(tests=item.tests | held.tests)


def element(atom: Atom, index: Atom) -> Value:
    if atom.kind in (TENSOR, DEVICE, ARRAY):
        unread = atom.unread in (ANSWER, ENTRY) and is_text(index)
        return atom.but(unread=ENTRY) if unread else atom
    if atom.kind == STATE or (atom.kind == STREAMED and atom.v is not None):
        each: Value = atom.v
        return _chosen_with(atom, each)
    if is_loaded(atom):
        return entry(atom, index)
    if atom.kind == SEQUENCE and index.kind == CONST and isinstance(index.v, int):
        if -len(atom.v) <= index.v < len(atom.v):
            return _chosen_with(atom, atom.v[index.v])
    if atom.kind in (MAPPING, NAMESPACE) and index.kind in (CONST, DEVICE):
        value = setting(atom, index.v)
        if value is None and atom.kind == NAMESPACE:  # `vars(args)["fast"]` is `args.fast`.
            return Atom(UNKNOWN, symbol=(whose_options(atom), index.v))
        return value if value is not None else UNK
    return UNK
