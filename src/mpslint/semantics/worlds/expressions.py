"""What an expression is, in each world."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from mpslint.facts import machines as facts
from mpslint.semantics.terms.device_text import TYPED
from mpslint.semantics.worlds.asked_choices import (
    asks_by_name,
    choices_by_flag,
    chooses_by_name,
)
from mpslint.semantics.worlds.configurations import KEEPING
from mpslint.semantics.worlds.device_arms import Arms, device_arms, named_arm
from mpslint.semantics.worlds.events import Kind
from mpslint.semantics.worlds.filled_lists import filled_by, iterated
from mpslint.semantics.worlds.joining import join, port
from mpslint.semantics.worlds.loaded import is_loaded
from mpslint.semantics.worlds.machines import ALL, MAC, MACS, NVIDIA, sent_away
from mpslint.semantics.worlds.names import Names
from mpslint.semantics.worlds.numbers import computed, tells, wide_one
from mpslint.semantics.worlds.operators import (
    arithmetic,
    bitwise_and,
    bitwise_or,
    divided,
    element,
    goes_on_as_word,
    logical_and,
    logical_not,
    logical_or,
    multiplied,
    negative,
    picked,
)
from mpslint.semantics.worlds.values import (
    ARRAY,
    BOT,
    CONST,
    DEVICE,
    LAMBDA,
    MAPPING,
    NAME,
    NO_TESTS,
    NOTHING,
    ON_HOST,
    ONE_OF_THEM,
    SEQUENCE,
    STATE,
    STREAMED,
    TENSOR,
    UNK,
    UNKNOWN,
    Atom,
    Value,
    by_world,
    cases_of,
    holds_device,
    lift,
    one,
    one_of,
    restrict,
    tensor,
)

MAX_TEXT = 60
"""A text this long is no device, no backend and no name of a system."""
OPERATIONS: dict[type[ast.operator], Callable[[Atom, Atom], Atom]] = {
    ast.BitAnd: bitwise_and,
    ast.BitOr: bitwise_or,
    ast.Div: divided,
    ast.Mult: multiplied,
}


_GIVING = frozenset({NOTHING, SEQUENCE, STREAMED, TENSOR, UNKNOWN})
"""Kinds of what a loop may take its items from, each world by itself."""


class Expressions(Names):
    expressions: dict[type[ast.AST], Callable[[Any], Value]]

    def eval(self, node: ast.expr) -> Value:
        function = self.expressions.get(node.__class__)
        return function(node) if function is not None else UNK

    # literals

    def e_Constant(self, node: ast.Constant) -> Value:
        value = node.value
        if isinstance(value, str):
            if len(value) < MAX_TEXT:
                match = TYPED.match(value)
                if match:
                    self.emit(Kind.NAMED, node, name=match.group(1))
                    return Atom(DEVICE, match.group(1), node)
                if value in facts.HALVES:
                    self.emit(Kind.NAMED, node, name=facts.HALVES[value])
                return Atom(CONST, value, node)
            return ON_HOST
        return Atom(CONST, value, node)

    def e_JoinedStr(self, node: ast.JoinedStr) -> Value:
        first = node.values[0] if node.values else None
        values = [
            self.eval(item.value) if isinstance(item, ast.FormattedValue) else UNK
            for item in node.values
        ]
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            match = TYPED.match(first.value)
            if match:
                return Atom(DEVICE, match.group(1), node)
        elif isinstance(first, ast.FormattedValue):
            after = node.values[1] if len(node.values) > 1 else None
            ends = not (isinstance(after, ast.Constant) and goes_on_as_word(after.value))
            if ends and one(values[0], self.frame.mask).kind == DEVICE:
                return values[0]
        return ON_HOST

    # operators

    def note_choice(self, node: ast.If | ast.IfExp) -> None:
        """Before the test of a choice is looked at: whether it asks for a device by name."""
        test = chooses_by_name(node, self._holds_answer)
        if test is not None:
            self.by_name.add(test)

    def note_flag(self, name: str, value: ast.expr) -> None:
        """Before a flag is looked at: whether what it decides asks for a device by its name."""
        if asks_by_name(value):
            if self.flagged is None:
                self.flagged = choices_by_flag(self.tree)
            for choice in self.flagged.get(name, ()):
                if chooses_by_name(choice, self._holds_answer, value) is not None:
                    self.by_name.add(value)

    def _holds_answer(self, name: ast.Name) -> bool:
        held = self.lookup(name.id)
        return held is not None and any(self.asks_for_cuda(a.tests) for _, a in cases_of(held))

    def e_BoolOp(self, node: ast.BoolOp) -> Value:
        frame = self.frame
        mask, why, asked = frame.mask, frame.tests, frame.asked
        conjunction = isinstance(node.op, ast.And)
        value: Value | None = None
        self.unsure += 1
        for item in node.values:
            self.mark(item)
            found = self.eval(item) if value is None else self._in_arm(item)[0]
            if value is None:
                value = found
            else:
                value = lift(logical_and if conjunction else logical_or, value, found)
            yes, no, tests = self.worlds_of(found)
            frame.mask = yes if conjunction else no
            frame.asked = frame.asked or self.asks_for_cuda(tests)
            if not frame.mask:
                break
        self.unsure -= 1
        frame.mask, frame.tests, frame.asked = mask, why, asked
        assert value is not None
        return port(value)

    def e_UnaryOp(self, node: ast.UnaryOp) -> Value:
        value = self.eval(node.operand)
        if isinstance(node.op, ast.Not):
            return lift(logical_not, value)
        if isinstance(node.op, ast.USub):
            return lift(negative, value)
        return lift(lambda atom: atom if atom.kind in (TENSOR, ARRAY) else UNK, value)

    def e_IfExp(self, node: ast.IfExp) -> Value:
        frame = self.frame
        self.note_choice(node)
        yes, no, tests = self.cond(node.test)
        mask, why, arm = frame.mask, frame.tests, frame.arm
        values: list[Value] = []
        built, frame.built = frame.built, frame.built | (tests & self.build_tests)
        asked, frame.asked = frame.asked, frame.asked or self.asks_for_cuda(tests)
        self.unsure += 1
        ends, owned = 0, bool(mask & MACS)
        env = frame.env
        narrowed = (
            (self.where_it_holds(node.test, yes), self.where_it_fails(node.test, no))
            if tests
            else ([], [])
        )
        arms = ((yes, node.body), (no, node.orelse))
        for (worlds, branch), known in zip(arms, narrowed, strict=True):
            frame.mask = worlds
            if known:
                self.refine(known)
            frame.tests = why | tests if sent_away(mask, worlds) else why
            if not arm and (yes != mask or no != mask):
                frame.arm = id(node)
            self.mark(branch)
            gate, frame.gate = frame.gate, node.test if mask & ~worlds & MACS else frame.gate
            found, own = self._in_arm(branch) if worlds else (BOT, False)
            values.append(found)
            owned = owned and (own or not worlds & MACS)
            ends |= frame.mask
            frame.arm, frame.gate = arm, gate
            if known:
                self.take_back(dict(known), env)
        self.unsure -= 1
        frame.mask, frame.tests, frame.built, frame.asked = mask, why, built, asked
        if owned:
            self.owned(ends)
        parted = yes != mask or no != mask
        if values[0].__class__ is Atom and values[1].__class__ is Atom:
            values = [_by_index(values[0], values[1]), _by_index(values[1], values[0])]
            if parted and not tests.isdisjoint(self.cuda_tests):
                values = [_of_cuda(values[0], values[1], yes), _of_cuda(values[1], values[0], no)]
        return self.picked(yes, values[0], no, values[1], tests if parted else NO_TESTS)

    def _in_arm(self, node: ast.expr) -> tuple[Value, bool]:
        """What an expression gives that is one of two ways, and whether all Macs that take it end
        in what only CUDA has: what led to both of them is no part of that."""
        frame = self.frame
        own, frame.own = frame.own, False
        frame.starts.append(len(self.log))
        value = self.eval(node)
        frame.starts.pop()
        ended = frame.own and not frame.mask & MACS
        frame.own = own
        return value, ended

    def e_NamedExpr(self, node: ast.NamedExpr) -> Value:
        value = self.eval(node.value)
        self.bind(node.target, value)
        return value

    def e_BinOp(self, node: ast.BinOp) -> Value:
        a, b = self.eval(node.left), self.eval(node.right)
        if a is UNK and b is UNK:
            return UNK
        self.computed(node, a, b)
        if isinstance(node.op, ast.BitAnd | ast.BitOr) and (_is_switch(a) or _is_switch(b)):
            return port(lift(logical_and if isinstance(node.op, ast.BitAnd) else logical_or, a, b))
        self.meet(node, (a, b))
        operation = OPERATIONS.get(type(node.op), arithmetic)
        value = lift(lambda a, b: computed(node.op, a, b, operation(a, b)), a, b)
        if isinstance(node.left, ast.Constant) and value.__class__ is Atom and value.kind == DEVICE:
            return value.but(node=node)  # "cuda:%d" % index
        return value

    # containers

    def e_Tuple(self, node: ast.Tuple | ast.List | ast.Set) -> Value:
        return Atom(SEQUENCE, tuple([self.eval(item) for item in node.elts]))

    e_List = e_Set = e_Tuple

    def e_Dict(self, node: ast.Dict) -> Value:
        found: dict[Any, Value] = {}
        everywhere: dict[Any, Value] = {}
        arms = device_arms(node.keys)
        for key, item in zip(node.keys, node.values, strict=True):
            value = self._arm(item, arms[key]) if key in arms else self.eval(item)
            if isinstance(key, ast.Constant):
                found[key.value] = value
                if key in arms and _is_made(value):
                    everywhere[key.value], found[key.value] = value, restrict(value, arms[key])
            elif key is None and value.__class__ is Atom and value.kind in KEEPING:
                found.update((name, held) for name, held in value.v.items() if holds_device(held))
        return Atom(MAPPING, Arms(found, everywhere) if everywhere else found)

    def _arm(self, node: ast.expr, worlds: int) -> Value:
        """What a table has for one device, beside an arm for MPS. What is called later is called
        where that device is; what is called here is called everywhere, for what it gives there."""
        if not isinstance(node, ast.Lambda | ast.Name | ast.Attribute):
            return self.eval(node)
        frame = self.frame
        mask = frame.mask
        frame.mask &= worlds
        self.mark(node)
        value = self.eval(node)
        frame.mask = mask
        return value

    def e_Subscript(self, node: ast.Subscript) -> Value:
        value = self.eval(node.value)
        index = self.eval(node.slice)
        if value is UNK:
            return UNK
        self.index(node, value, index)
        named = named_arm(value, node.slice)
        if named is not None:
            return named
        if value.__class__ is Atom and index.__class__ is Atom:
            return element(value, index)
        return port(
            by_world(lambda worlds, atom: by_world(lambda _, at: picked(atom, at), index), value)
        )

    def e_Slice(self, node: ast.Slice) -> Value:
        for item in (node.lower, node.upper, node.step):
            if item is not None:
                self.eval(item)
        return UNK

    def e_Starred(self, node: ast.Starred) -> Value:
        value = self.eval(node.value)
        if tells(value):
            self.each[node] = value
        return UNK

    # functions without a name, generators

    def e_ListComp(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
    ) -> Value:
        frame = self.frame
        env, mask, why = frame.env, frame.mask, frame.tests
        frame.env = dict(env)
        each: Value = UNK
        for generator in node.generators:
            self.bind(generator.target, self.items_of(self.eval(generator.iter)))
            turns = self.turns(generator.iter)
            if turns is not None:
                frame.mask &= turns
            for test in generator.ifs:
                yes, _, _ = self.cond(test)
                frame.mask = yes
        if frame.mask:
            parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            for part in parts:
                self.mark(part)
                each = self.eval(part)
            if not any(generator.ifs for generator in node.generators):
                self.each[node] = each
        frame.env, frame.mask, frame.tests = env, mask, why
        return _all_like(each, is_table=isinstance(node, ast.DictComp))

    e_SetComp = e_GeneratorExp = e_DictComp = e_ListComp

    def turns(self, node: ast.expr) -> int | None:
        """The worlds in which `range(torch.cuda.device_count())` has a turn at all."""
        if (filled := self._filled_for_cuda(node)) is not None:
            return filled
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            return None
        if node.func.id != "range" or len(node.args) != 1:
            return None
        yes, _, tests = self.worlds_of(self.eval(node.args[0]))
        return yes if tests else None

    def _filled_for_cuda(self, node: ast.expr) -> int | None:
        """The worlds in which a loop goes over something, where a list is filled for CUDA alone."""
        function, name = self.frame.function, iterated(node)
        if function is None or name is None or not self.recording:
            return None
        worlds = 0
        for fill in filled_by(function.node, name, self._is_of_torch):
            if fill not in self.reach:
                return None  # It is not known who comes there.
            worlds |= self.reach[fill]
        return worlds & self.frame.mask if worlds and not worlds & MACS else None

    def _is_of_torch(self, called: ast.expr) -> bool:
        key = self.key(called)
        root = self.lookup(key.partition(".")[0]) if key is not None else None
        name = one(root, ALL) if root is not None else UNK
        return name.kind == NAME and str(name.v).partition(".")[0] == "torch"

    def items_of(self, value: Value) -> Value:
        """What a loop over a value gives its variable."""
        if value.__class__ is Atom:
            if value.kind == SEQUENCE and value.v:
                if len(value.v) == 1:
                    only: Value = value.v[0]
                    return only
                wide = wide_one(value.v)
                return wide if wide is not None else lift(any_of, *value.v)
            if value.kind in (TENSOR, ARRAY) or is_loaded(value):
                return value
            if value.kind == STREAMED:
                # A loader's batches are on the CPU, whoever takes them.
                return value.v if value.v is not None else tensor("cpu")
        elif all(atom.kind in _GIVING for _, atom in cases_of(value)):
            return port(
                by_world(lambda _, atom: BOT if atom is BOT else self.items_of(atom), value)
            )
        return UNK

    def e_Lambda(self, node: ast.Lambda) -> Value:
        return Atom(LAMBDA, self.applied(node, []), node)

    def applied(self, node: ast.Lambda, args: list[Value]) -> Value:
        """What a `lambda` gives that is called where it stands."""
        frame = self.frame
        env = frame.env
        unknown = {item.arg: UNK for item in (*node.args.args, *node.args.kwonlyargs)}
        given = {item.arg: value for item, value in zip(node.args.args, args, strict=False)}
        frame.env = {**env, **unknown, **given}
        self.unsure += 1
        mark = len(self.log)
        value = self.eval(node.body)
        self.unsure -= 1
        frame.env = env
        if args:  # All else was told when it was made.
            self.log[mark:] = [event for event in self.log[mark:] if event.kind is Kind.READ]
        return value

    def e_Await(self, node: ast.Await) -> Value:
        return self.eval(node.value)

    def e_Yield(self, node: ast.Yield | ast.YieldFrom) -> Value:
        if node.value is not None:
            value = self.eval(node.value)
            self.kept(value)
            if isinstance(node, ast.YieldFrom):
                value = self.items_of(value)
            self.frame.yielded.append((self.frame.mask, value))
        return UNK

    e_YieldFrom = e_Yield


def _is_made(value: Value) -> bool:
    """Whether it is a device, or a configuration that may hold one."""
    return {atom.kind for _, atom in cases_of(value)} <= {DEVICE, MAPPING}


def _by_index(value: Value, other: Value) -> Value:
    """`"0"` or 0, where the other arm names a device: that CUDA device."""
    assert isinstance(value, Atom)
    assert isinstance(other, Atom)
    if other.kind != DEVICE or value.kind != CONST or type(value.v) not in (int, str):
        return value
    return Atom(DEVICE, "cuda", value.node) if str(value.v).isdecimal() else value


def _of_cuda(value: Value, other: Value, worlds: int) -> Value:
    """What nobody knows, in the arm that machines with CUDA alone come to, where all others get the
    CPU: `cfg.device if torch.cuda.is_available() else "cpu"`. It names a device of CUDA, or the
    test in front of it would be for nothing."""
    assert isinstance(value, Atom)
    assert isinstance(other, Atom)
    is_open = value.kind == UNKNOWN or (value.kind == DEVICE and value.v == "?")
    if not is_open or worlds & MAC or not worlds & NVIDIA:
        return value
    return Atom(DEVICE, "cuda", value.node) if (other.kind, other.v) == (DEVICE, "cpu") else value


def any_of(*items: Atom) -> Atom:
    """What one of several items is, whichever it is."""
    items = tuple(item for item in items if item is not BOT)
    if len(items) < 2:
        return items[0] if items else BOT
    if all(item.kind == CONST for item in items):
        return one_of(items)
    found = items[0]
    for item in items[1:]:
        found = join(found, item)
    return UNK if found.kind == CONST else found


def _all_like(each: Value, *, is_table: bool) -> Value:
    """What a comprehension gives, each part of which is like this one."""
    if each is UNK:
        return UNK
    if is_table:
        return lift(_table_of, each)
    is_device = each.__class__ is Atom and each.kind == DEVICE
    return Atom(STREAMED, each) if is_device or tells(each) else UNK


def _table_of(each: Atom) -> Atom:
    is_known = each.kind == TENSOR and each.v[0] != "?" and each.unread != ONE_OF_THEM
    return Atom(STATE, each) if is_known else UNK


def _is_switch(value: Value) -> bool:
    """Whether a value is true or false in each world: `&` and `|` are then `and` and `or`."""
    return all(atom.kind == CONST and isinstance(atom.v, bool) for _, atom in cases_of(value))
