"""Which worlds a test lets through: comparisons of devices, counts, platforms, constants."""

from __future__ import annotations

import ast
from collections.abc import Callable

from mpslint.facts import machines as facts
from mpslint.semantics.worlds.core import Core
from mpslint.semantics.worlds.machines import ALL, CPU, MACS, NVIDIA, PORTED
from mpslint.semantics.worlds.values import (
    ARRAY,
    CLASS,
    CONST,
    DEVICE,
    FALSE,
    FUNCTION,
    HOST,
    INSTANCE,
    MAPPING,
    MODULE,
    NAME,
    NO_TESTS,
    PLATFORM,
    SEQUENCE,
    SOME,
    TENSOR,
    TRUE,
    UNK,
    UNKNOWN,
    Atom,
    Tests,
    Value,
    by_world,
    cases_of,
    pack,
    tested,
    where,
)

Answer = list[tuple[int, bool | None]]
"""Worlds, each with what a comparison says there."""
_SOMETHING = frozenset(
    {TENSOR, MODULE, SOME, FUNCTION, CLASS, INSTANCE, SEQUENCE, MAPPING, DEVICE, ARRAY, HOST}
)
"""Kinds that are never None."""


class Conditions(Core):
    def cond(self, node: ast.expr) -> tuple[int, int, Tests]:
        """The worlds where a test may hold, where it may fail, and the tests of the machine in
        it. The right side of `and` is looked at in the worlds that get there."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yes, no, tests = self.cond(node.operand)
            return no, yes, tests
        if isinstance(node, ast.BoolOp):
            return self._several(node)
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "bool"
        ):
            if len(node.args) == 1:
                return self.cond(node.args[0])
        if isinstance(node, ast.NamedExpr):
            value = self.eval(node.value)
            self.bind(node.target, value)
            return self.worlds_of(value, switches=self.is_relevant(node))
        return self.worlds_of(self.eval(node), switches=True)

    def _several(self, node: ast.BoolOp) -> tuple[int, int, Tests]:
        frame = self.frame
        mask, why = frame.mask, frame.tests
        conjunction = isinstance(node.op, ast.And)
        asking, self.asking = self.asking, conjunction and _asks_machine(node)
        tests = NO_TESTS
        out = 0
        go = mask
        for item in node.values:
            self.mark(item)
            yes, no, found = self.cond(item)
            tests |= found
            go, stop = (yes, no) if conjunction else (no, yes)
            out |= stop
            frame.mask = go
            if not go:
                break
            if go & MACS != mask & MACS:
                frame.tests = why | tests
        frame.mask, frame.tests = mask, why
        self.asking = asking
        return (go, out, tests) if conjunction else (out, go, tests)

    def mark(self, node: ast.AST) -> None:
        """Notes the worlds that come to a part of an expression."""
        if self.recording:
            self.reach[node] = self.reach.get(node, 0) | self.frame.mask

    def refined(self, test: ast.expr, fails: int) -> list[tuple[str, Value]]:
        """What names stand for where `device == "cuda" and not torch.cuda.is_available()` fails:
        where the machine is as asked for, the device is another one."""
        if not (isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)):
            return []
        recording, self.recording = self.recording, False
        found: list[tuple[str, Value]] = []
        asked = [self.cond(part) for part in test.values]
        for at, part in enumerate(test.values):
            named = _compared_device(part)
            key = self.key(named) if named is not None else None
            others = [item for other, item in enumerate(asked) if other != at]
            if (
                named is None
                or key is None
                or not any(not self.cuda_tests.isdisjoint(o[2]) for o in others)
            ):
                continue
            surely = fails
            for yes, no, _ in others:
                surely &= yes & ~no
            if surely:
                found.append((key, by_world(_another(surely), self.eval(named))))
        self.recording = recording
        return found

    def e_Compare(self, node: ast.Compare) -> Value:
        left = self.eval(node.left)
        if len(node.ops) != 1:
            for item in node.comparators:
                self.eval(item)
            return UNK
        right = self.eval(node.comparators[0])
        if left is UNK and right is UNK:
            return UNK
        operator = node.ops[0]
        if not isinstance(operator, ast.Is | ast.IsNot | ast.In | ast.NotIn):
            self.meet(node, (left, right))
        mine: Tests = NO_TESTS
        if _is_device(left) or _is_device(right):
            self.looked_at(left)
            self.looked_at(right)
            self.device_tests.add(node)
            mine = frozenset((node,))
            if _is_mps(left) or _is_mps(right):
                self.mps_tests.add(node)
                self.asking_mps.add((self.frame.function, self.frame.arm))
        elif any(_is_nccl(atom) for value in (left, right) for _, atom in cases_of(value)):
            self.own_tests.add(node)
            mine = frozenset((node,))
        return self.compared(operator, left, right, mine)

    def compared(self, operator: ast.cmpop, left: Value, right: Value, mine: Tests) -> Value:
        cases: list[tuple[int, Atom]] = []
        for worlds, a in cases_of(left):
            for both, b in cases_of(right, worlds):
                tests = a.tests | b.tests | mine
                answers = _compare(operator, a, b, both)
                if self.asking and (_is_default(a) or _is_default(b)):
                    # `device == "cuda" and not torch.cuda.is_available()`: the default is meant.
                    answers = [(both, None)]
                for mask, said in answers:
                    cases.append((mask, said_atom(said, tests)))
        return pack(cases)

    def on(self, value: Value, backend: str, node: ast.expr) -> Value:
        """Whether a value is on this type of device: `x.is_cuda`."""
        mine = frozenset((node,))

        def ask(worlds: int, atom: Atom) -> Value:
            there = where(atom)
            if there in ("cuda", "mps", "cpu") and not (atom.kind == DEVICE and atom.maybe):
                return tested(TRUE if there == backend else FALSE, atom.tests | mine)
            if backend == "cuda":
                return pack(
                    [
                        (worlds & NVIDIA, Atom(UNKNOWN, None, None, mine)),
                        (worlds & ~NVIDIA, Atom(CONST, False, None, mine)),
                    ]
                )
            if backend == "mps":
                return pack([(worlds & MACS, UNK), (worlds & ~MACS, FALSE)])
            return UNK

        return by_world(ask, value)


def _asks_machine(node: ast.BoolOp) -> bool:
    return any(
        isinstance(item, ast.Attribute) and item.attr in ("is_available", "device_count")
        for value in node.values
        for item in ast.walk(value)
    )


def _is_default(atom: Atom) -> bool:
    return atom.kind == DEVICE and atom.maybe and atom.v == "cuda"


def _compared_device(test: ast.expr) -> ast.expr | None:
    """`device` of `device == "cuda"` and of `device.startswith("cuda")`."""
    named: ast.expr | None = None
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        right = test.comparators[0]
        if isinstance(test.ops[0], ast.Eq) and _is_cuda_text(right):
            named = test.left
        elif isinstance(test.ops[0], ast.In) and _is_cuda_text(test.left):
            named = right
    elif isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute):
        if test.func.attr == "startswith" and test.args and _is_cuda_text(test.args[0]):
            named = test.func.value
    if isinstance(named, ast.Attribute) and named.attr == "type":
        named = named.value
    return named


def _is_cuda_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and str(node.value).partition(":")[0] == "cuda"


def _another(worlds: int) -> Callable[[int, Atom], Value]:
    """In `worlds`, a device that is not a CUDA one."""

    def change(mask: int, atom: Atom) -> Value:
        if atom.kind != DEVICE or atom.v != "cuda":
            return atom
        other = Atom(DEVICE, "?", None, atom.tests, True, atom.made)
        return pack([(mask & worlds, other), (mask & ~worlds, atom)])

    return change


def said_atom(said: bool | None, tests: Tests) -> Atom:
    """True, False or not known, hanging on tests."""
    if said is None:
        return Atom(UNKNOWN, None, None, tests) if tests else UNK
    if tests:
        return Atom(CONST, said, None, tests)
    return TRUE if said else FALSE


def _is_device(value: Value) -> bool:
    return any(atom.kind == DEVICE for _, atom in cases_of(value))


def _is_mps(value: Value) -> bool:
    return value.__class__ is Atom and value.kind == DEVICE and value.v == "mps"


def _negated(answers: Answer) -> Answer:
    return [(worlds, None if said is None else not said) for worlds, said in answers]


def _compare(operator: ast.cmpop, a: Atom, b: Atom, worlds: int) -> Answer:
    if isinstance(operator, ast.Eq | ast.Is):
        return equal(a, b, worlds)
    if isinstance(operator, ast.NotEq | ast.IsNot):
        return _negated(equal(a, b, worlds))
    if isinstance(operator, ast.In):
        return _member(a, b, worlds)
    if isinstance(operator, ast.NotIn):
        return _negated(_member(a, b, worlds))
    return [(worlds, _ordered(operator, a, b))]


def _member(a: Atom, b: Atom, worlds: int) -> Answer:
    if b.kind == SEQUENCE:
        found: dict[int, list[bool | None]] = {}
        for item in b.v:
            for mask, atom in cases_of(item, worlds):
                for part, said in equal(a, atom, mask):
                    found.setdefault(part, []).append(said)
        if len(found) == 1:
            ((part, said_all),) = found.items()
            return [(part, _any(said_all))]
        return _any_by_part(found, worlds)
    if a.kind == DEVICE:
        # `"cuda" in str(device)`, `"cuda" in device`
        return equal(a, b, worlds)
    return [(worlds, None)]


def _any(said: list[bool | None]) -> bool | None:
    return True if True in said else None if None in said or not said else False


def _any_by_part(found: dict[int, list[bool | None]], worlds: int) -> Answer:
    """As `_any`, where the parts of the worlds overlap."""
    answers: Answer = []
    rest = worlds
    for cut in (NVIDIA, MACS, ALL & ~(NVIDIA | MACS)):
        part = rest & cut
        if part:
            said = [one for mask, all_said in found.items() if mask & part for one in all_said]
            answers.append((part, _any(said)))
    return answers or [(worlds, None)]


def _ordered(operator: ast.cmpop, a: Atom, b: Atom) -> bool | None:
    """`device_count() > 1`"""
    left = _number(a)
    right = _number(b)
    if left is None or right is None:
        return None
    if a.kind == SOME and b.kind == CONST:
        if isinstance(operator, ast.Gt):
            return True if right < left else None
        if isinstance(operator, ast.GtE):
            return True if right <= left else None
        if isinstance(operator, ast.Lt):
            return False if right <= left else None
        return False if right < left else None
    if a.kind == SOME or b.kind == SOME:
        return None
    if isinstance(operator, ast.Gt):
        return left > right
    if isinstance(operator, ast.GtE):
        return left >= right
    if isinstance(operator, ast.Lt):
        return left < right
    return left <= right


def _number(atom: Atom) -> float | None:
    if atom.kind == SOME:
        return int(atom.v or 1)
    if atom.kind == CONST and not atom.maybe and isinstance(atom.v, int | float):
        return atom.v
    return None


def equal(a: Atom, b: Atom, worlds: int) -> Answer:
    """Whether two atoms are equal, in these worlds."""
    if b.kind == DEVICE and a.kind != DEVICE:
        a, b = b, a
    if a.kind == PLATFORM or b.kind == PLATFORM:
        return _on_platform(b if a.kind == PLATFORM else a, worlds)
    if a.kind == DEVICE:
        return _device_is(a, b, worlds)
    if a.kind == SEQUENCE or b.kind == SEQUENCE:
        return [(worlds, None)]
    if _is_nccl(a) or _is_nccl(b):
        other = b if _is_nccl(a) else a
        if other.kind not in (CONST, NAME) or other.maybe:
            return [(worlds & NVIDIA, None), (worlds & ~NVIDIA, False)]
    if a.kind == CONST and b.kind == CONST:
        return [(worlds, None if a.maybe or b.maybe else a.v == b.v)]
    if b.kind != CONST:
        a, b = b, a
    if b.kind == CONST and not b.maybe:
        if b.v is None and a.kind in _SOMETHING:
            return [(worlds, False)]
        if a.kind == SOME and isinstance(b.v, int) and b.v < (a.v or 1):
            return [(worlds, False)]
    return [(worlds, None)]


def _is_nccl(atom: Atom) -> bool:
    return (atom.kind == CONST and atom.v == "nccl") or (
        atom.kind == NAME and str(atom.v).endswith(".NCCL")
    )


def _on_platform(other: Atom, worlds: int) -> Answer:
    if other.kind != CONST or not isinstance(other.v, str):
        return [(worlds, None)]
    name = other.v.lower()
    if name in ("darwin", "macos"):
        return [(worlds & MACS, True), (worlds & ~MACS, False)]
    if name in facts.MAC_SYSTEMS:
        return [(worlds & MACS, True), (worlds & ~MACS, None)]
    return [(worlds & MACS, False), (worlds & ~MACS, None)]


def _device_is(a: Atom, b: Atom, worlds: int) -> Answer:
    if b.kind == DEVICE:
        for known, other in ((a, b), (b, a)):
            if other.v == "?":
                return _unknown_is(known.v, worlds, device=True)
            if other.maybe:
                return _unknown_is(known.v, worlds)
        if a.v == b.v == "cuda":
            # Off CUDA a literal "cuda" counts as repaired: it has been told of.
            return [(worlds & NVIDIA, True), (worlds & ~NVIDIA, False)]
        return [(worlds, bool(a.v == b.v))]
    if b.kind in (UNKNOWN, NAME, HOST):
        return [(worlds, None)] if a.maybe else _unknown_is(a.v, worlds, device=True)
    if b.kind == CONST:
        if b.v is None and not a.maybe:
            return [(worlds, False)]
        return [(worlds, None if a.maybe or a.v == "?" else False)]
    return [(worlds, None)]


def _unknown_is(backend: str, worlds: int, *, device: bool = False) -> Answer:
    """What is not known is a CUDA device only where there is CUDA. A `device` that somebody else
    chose is MPS where every choice asks for that."""
    if device and backend in ("mps", "cpu") and worlds & (PORTED | CPU):
        known: Answer = [(worlds & PORTED, backend == "mps"), (worlds & CPU, backend == "cpu")]
        rest = worlds & ~(PORTED | CPU)
        return [item for item in (*known, *_unknown_is(backend, rest)) if item[0]]
    if backend == "cuda":
        return [(worlds & NVIDIA, None), (worlds & ~NVIDIA, False)]
    if backend == "mps":
        return [(worlds & MACS, None), (worlds & ~MACS, False)]
    if backend in ("cpu", "?", "meta"):
        return [(worlds, None)]
    return [(worlds & MACS, False), (worlds & ~MACS, None)]
