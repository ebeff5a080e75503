"""Which worlds a test lets through."""

from __future__ import annotations

import ast

from mpslint.facts import machines as facts
from mpslint.semantics.worlds.asked_choices import (
    Asked,
    asks_machine,
    is_left_open,
)
from mpslint.semantics.worlds.comparing import (
    asks_for_more_than_one,
    compare,
    has_no_such_gpu,
    is_cuda_type,
    is_of_nvidia,
)
from mpslint.semantics.worlds.joining import pick
from mpslint.semantics.worlds.launched import is_looked_up
from mpslint.semantics.worlds.listed_devices import ListedDevices
from mpslint.semantics.worlds.machines import (
    ALL,
    CPU,
    GPUS,
    MAC,
    MACS,
    NVIDIA,
    PARTS,
    SWITCH,
    SWITCHES,
    sent_away,
)
from mpslint.semantics.worlds.operators import logical_and, logical_not
from mpslint.semantics.worlds.placing import Placing
from mpslint.semantics.worlds.ranked_tests import answered, is_of_rank
from mpslint.semantics.worlds.refining import Refining
from mpslint.semantics.worlds.state import Env
from mpslint.semantics.worlds.values import (
    CONST,
    DEVICE,
    FALSE,
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
    Symbol,
    Tests,
    Value,
    by_world,
    cases_of,
    holds_device,
    lift,
    one,
    pack,
    tested,
    text_of,
    truth,
    where,
)

_SAME = ast.Is | ast.Eq
_OTHER = ast.IsNot | ast.NotEq


class Conditions(Placing, Refining, ListedDevices):
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
        asking = self.asking
        if node in self.by_name:
            self.asking = Asked.SWITCH
        value = self.eval(node)
        self.asking = asking
        named = one(value, ALL)
        row = facts.ANSWERS.get(str(named.v)) if named.kind == NAME else None
        if row is not None:
            # `if torch.cuda.is_available:`, of which MPS119 tells, is meant as a question.
            value = self.answer(row, node)
        return self.worlds_of(value, switches=True)

    def _what_is_asked(self, node: ast.BoolOp, conjunction: bool) -> Asked:
        if node in self.by_name:
            return Asked.SWITCH
        return Asked.DEVICE if conjunction and asks_machine(node) else Asked.NOTHING

    def asks_for_cuda(self, tests: Tests) -> bool:
        """Whether some of these tests are about CUDA, or a device."""
        return not tests.isdisjoint(self.cuda_tests) or not tests.isdisjoint(self.device_tests)

    def _several(self, node: ast.BoolOp) -> tuple[int, int, Tests]:
        frame = self.frame
        mask, why, env = frame.mask, frame.tests, frame.env
        conjunction = isinstance(node.op, ast.And)
        asking, self.asking = self.asking, self._what_is_asked(node, conjunction)
        tests = NO_TESTS
        deciding: Tests = NO_TESTS
        refined: Env = {}
        out = 0
        go = mask
        self.unsure += 1
        for item in node.values:
            self.mark(item)
            yes, no, found = self.cond(item)
            tests |= found
            before, (go, stop) = go, (yes, no) if conjunction else (no, yes)
            out |= stop
            if sent_away(before, go):
                deciding |= found
            frame.mask = go
            if not go:
                break
            if sent_away(mask, go):
                frame.tests = why | tests
            if not conjunction and (left := self.left_of_devices(item, go)):
                refined.update(left)
                self.refine(left)
        self.unsure -= 1
        frame.mask, frame.tests = mask, why
        if refined:
            self.take_back(refined, env)
        self.asking = asking
        # Of `not x.is_cuda and use_cuda` the first sends nobody away who has no CUDA.
        return (go, out, deciding or tests) if conjunction else (out, go, tests)

    # switches

    def switched(self, symbol: Symbol) -> int | None:
        """The worlds in which what is unknown is true; None where it is not told apart."""
        if symbol[0] == "not":
            on = self.switched(symbol[1])  # type: ignore[arg-type]
            return None if on is None else ALL & ~on
        slot = self.slots.get(symbol)
        if slot is None:
            if len(self.slots) >= SWITCHES - self._kept_free(symbol):
                return None
            slot = self.slots[symbol] = len(self.slots)
        return SWITCH[slot]

    def _kept_free(self, symbol: Symbol) -> int:
        """How many switches are left for others: one for the test under which the file starts a
        process group, which says more than any flag. A run that only tells what a call gives does
        not take it: there a parameter is not yet what its callers have asked about."""
        if is_of_rank(symbol):
            return 0 if self.recording else 1
        return 1 if self.rank_starts and not any(map(is_of_rank, self.slots)) else 0

    def picked(self, m1: int, v1: Value, m2: int, v2: Value, tests: Tests) -> Value:
        """As `pick`. A switch that is told apart, and meets an answer of the machine in the same
        world (`sync if sync is not None else torch.cuda.is_available()`), is what it is there."""
        if m1 & m2 and v1 is not v2:
            if _is_answer(v2, m1 & m2):
                v1 = self._switch_told(v1)
            elif _is_answer(v1, m1 & m2):
                v2 = self._switch_told(v2)
        return pick(m1, v1, m2, v2, tests, decided=not tests.isdisjoint(self.mps_tests))

    def _switch_told(self, value: Value) -> Value:
        """A switch that was tested before, as true and false by worlds."""
        if value.__class__ is not Atom or value.symbol is None or value.kind != UNKNOWN:
            return value
        known = value.symbol[1] if value.symbol[0] == "not" else value.symbol
        on = self.switched(value.symbol) if known in self.slots else None
        if on is None:
            return value
        tests = value.tests | self.frame.tests
        return pack([(on, said_atom(True, tests)), (ALL & ~on, said_atom(False, tests))])

    def worlds_of(self, value: Value, *, switches: bool = False) -> tuple[int, int, Tests]:
        """The worlds, of those here, in which a value may be true, and may be false."""
        if value is UNK:
            return self.frame.mask, self.frame.mask, NO_TESTS
        yes = no = 0
        tests = NO_TESTS
        for worlds, atom in cases_of(value, self.frame.mask):
            known = truth(atom)
            if known is None and switches and atom.symbol is not None:
                on = self.switched(atom.symbol)
                if on is not None:
                    yes |= worlds & on
                    no |= worlds & ~on
                    tests |= atom.tests
                    continue
            if known is not False:
                yes |= worlds
            if known is not True:
                no |= worlds
            tests |= atom.tests
        return yes, no, tests

    # answers of the machine

    def answer(self, row: facts.Answer, node: ast.expr) -> Value:
        """What a question to the machine gives in each world; `node` is the test."""
        tests = frozenset((node,))
        if (row[0] and (not row[2] or row[2] is facts.ABSENT)) or (
            row[0] is None and row[2] is False
        ):
            self.cuda_tests.add(node)
            if row[2] is facts.ABSENT:
                self.toolkit_tests.add(node)
        elif row[2] and not row[0]:
            self.mps_tests.add(node)
            self.asking_mps.add((self.frame.function, self.frame.arm))
        if row[5] and not row[4]:
            self.build_tests.add(node)
        cases = []
        if self.frame.testing and node in self.cuda_tests and node not in self.kept_answers:
            row = (*row[:3], row[2], *row[4:])
        for machine, said in zip(PARTS, row, strict=True):
            atom = (
                Atom(UNKNOWN, None, None, tests)
                if said is None
                else Atom(SOME, 2, None, tests)
                if said is facts.SEVERAL
                else Atom(CONST, None if said is facts.ABSENT else said, None, tests)
            )
            cases.append((machine, atom))
        return pack(cases)

    # comparisons

    def e_Compare(self, node: ast.Compare) -> Value:
        if self.frame.raised[1]:
            told = self._told_by_error(node, *self.frame.raised)
            if told is not None:
                return told
        if (listed := self.told_by_list(node)) is not None:
            return listed
        left = self.eval(node.left)
        if self.ranked:
            asked = answered(node, one(left, self.frame.mask))
            if asked is not None and asked[0] in self.ranked:
                return Atom(UNKNOWN, symbol=("not", asked[0]) if asked[1] else asked[0])
        found: Value | None = None
        for operator, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.eval(comparator)
            said = self._pair(node, operator, left, right)
            found = said if found is None else lift(logical_and, found, said)
            left = right
        assert found is not None
        return found

    def _told_by_error(self, node: ast.Compare, name: str, worlds: int) -> Value | None:
        """`"out of memory" in str(error)`, where torch has raised for want of CUDA: what it says
        then is known. What the file itself may have raised is not."""
        operator, asked = node.ops[0], node.left
        if not isinstance(operator, ast.In | ast.NotIn) or not isinstance(asked, ast.Constant):
            return None
        if not isinstance(asked.value, str) or self.count_of(asked.value) > 1:
            return None
        names = (item for item in ast.walk(node.comparators[0]) if isinstance(item, ast.Name))
        if not any(item.id == name for item in names):
            return None
        holds = {asked.value.lower() in text.lower() for text in facts.SAID_WITHOUT_CUDA}
        if len(holds) > 1:
            return None
        said = holds.pop() is isinstance(operator, ast.In)
        return pack([(worlds, Atom(CONST, said)), (ALL & ~worlds, UNK)])

    def _may_hold_none(self, node: ast.expr, value: Value) -> bool:
        """`layer.bias`, `p.grad`: what is read of a tensor or a module, and was not stored there in
        sight, is a tensor if it is not None."""
        if not any(atom.kind == TENSOR for _, atom in cases_of(value)):
            return False
        key = self.key(node) if isinstance(node, ast.Attribute) else ""
        return key is None or (bool(key) and self.lookup(key) is None)

    def _pair(self, node: ast.Compare, operator: ast.cmpop, left: Value, right: Value) -> Value:
        if left is UNK and right is UNK:
            return UNK
        if isinstance(operator, ast.Is | ast.IsNot) and self._may_hold_none(node.left, left):
            return UNK
        if isinstance(operator, ast.In | ast.NotIn):
            if one(right, self.frame.mask & MACS).kind in (TENSOR, UNKNOWN):
                self.meet(node, (left, right))  # `label in known`, which compares with each.
        elif not isinstance(operator, ast.Is | ast.IsNot):
            self.meet(node, (left, right))
        mine: Tests = NO_TESTS
        both = [atom for value in (left, right) for _, atom in cases_of(value)]
        is_asked = isinstance(operator, ast.In | ast.NotIn)
        # Without them Gloo's processes go on: on the CPU, or one alone.
        is_launched = isinstance(operator, ast.In) or not self.names_gloo
        if is_asked and ((is_launched and is_looked_up(left, right)) or _quotes_cuda(left)):
            self.own_tests.add(node)
            mine = frozenset((node,))
            there, absent = Atom(UNKNOWN, None, None, mine), Atom(CONST, False, None, mine)
            if isinstance(operator, ast.NotIn):
                absent = Atom(CONST, True, None, mine)
            return pack([(NVIDIA, there), (ALL & ~NVIDIA, absent)])
        several = asks_for_more_than_one(node, operator, left, right)
        if several is not None:
            self.own_tests.add(node)
            mine = frozenset((node,))
            there, alone = Atom(UNKNOWN, None, None, mine), Atom(CONST, not several, None, mine)
            return pack([(GPUS, there), (ALL & ~GPUS, alone)])
        if has_no_such_gpu(node, operator, left, right):
            return pack(
                [
                    (MAC | CPU, said_atom(False, one(left, MAC).tests)),
                    (ALL & ~(MAC | CPU), Atom(UNKNOWN, None, None, one(left, MAC).tests)),
                ]
            )
        if holds_device(left) or holds_device(right) or _lists_devices(right):
            self.looked_at(left)
            self.looked_at(right)
            self.device_tests.add(node)
            mine = frozenset((node,))
            if _is_mps(left) or _is_mps(right):
                self.mps_tests.add(node)
                self.asking_mps.add((self.frame.function, self.frame.arm))
                asked = self.frame.function, ast.unparse(node.left)
                self.compared_with_mps.setdefault(asked, []).append(node)
        elif any(map(is_of_nvidia, both)):
            self.own_tests.add(node)
            mine = frozenset((node,))
        elif any(map(_names_cuda_type, both)):
            self.device_tests.add(node)
            mine = frozenset((node,))
        elif any(atom.kind == PLATFORM for atom in both):
            mine = frozenset((node,))
        return self.compared(operator, left, right, mine)

    def compared(self, operator: ast.cmpop, left: Value, right: Value, mine: Tests) -> Value:
        cases: list[tuple[int, Atom]] = []
        for worlds, a in cases_of(left):
            for both, b in cases_of(right, worlds):
                tests = a.tests | b.tests | mine
                answers = compare(operator, a, b, both)
                if is_left_open(self.asking, a, b, self.cuda_tests):
                    # `device == "cuda" and not torch.cuda.is_available()`: the default is meant.
                    answers = [(both, None)]
                asked = _as_asked(operator, a, b)
                for mask, said in answers:
                    told = asked if said is None and asked is not None else said_atom(said, tests)
                    cases.append((mask, told))
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


def _is_answer(value: Value, worlds: int) -> bool:
    """Whether a value is plainly true or false in some of `worlds`."""
    if value.__class__ is Atom:
        return value.kind == CONST and type(value.v) is bool and bool(worlds)
    return any(atom.kind == CONST and type(atom.v) is bool for _, atom in cases_of(value, worlds))


def _as_asked(operator: ast.cmpop, left: Atom, right: Atom) -> Atom | None:
    """`parallel == True` asks what `parallel` does, and `parallel is False` the contrary."""
    if left.kind == CONST and right.kind == UNKNOWN:
        left, right = right, left
    if left.kind != UNKNOWN or left.symbol is None or right.kind != CONST:
        return None
    if right.v.__class__ is not bool or not isinstance(operator, _SAME | _OTHER):
        return None
    if right.v is isinstance(operator, _SAME):
        return left
    return logical_not(left)


def said_atom(said: bool | None, tests: Tests) -> Atom:
    """True, False or not known, hanging on tests."""
    if said is None:
        return Atom(UNKNOWN, None, None, tests) if tests else UNK
    if tests:
        return Atom(CONST, said, None, tests)
    return TRUE if said else FALSE


def _names_cuda_type(atom: Atom) -> bool:
    return is_cuda_type(atom) or (
        atom.kind == SEQUENCE
        and any(_names_cuda_type(item) for value in atom.v for _, item in cases_of(value))
    )


def _is_mps(value: Value) -> bool:
    return value.__class__ is Atom and value.kind == DEVICE and value.v == "mps"


def _lists_devices(value: Value) -> bool:
    return any(
        atom.kind == SEQUENCE and any(holds_device(item) for item in atom.v)
        for _, atom in cases_of(value)
    )


def _quotes_cuda(left: Value) -> bool:
    """`"CUDA out of memory" in str(error)`: what torch says of CUDA alone."""
    return (
        left.__class__ is Atom
        and left.kind == CONST
        and text_of(left).startswith(facts.CUDA_MESSAGES)
    )
