"""What an expression is, in each world."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

from mpslint.facts import machines as facts
from mpslint.semantics.worlds.conditions import Conditions
from mpslint.semantics.worlds.machines import MACS
from mpslint.semantics.worlds.project import foreign
from mpslint.semantics.worlds.state import Class
from mpslint.semantics.worlds.values import (
    ARRAY,
    BOT,
    BOUND,
    CLASS,
    CONST,
    DEVICE,
    DTYPE,
    FALSE,
    FUNCTION,
    INSTANCE,
    LAMBDA,
    LOADER,
    MAPPING,
    MODULE,
    NAME,
    NAMESPACE,
    NO_TESTS,
    ON_HOST,
    PLATFORM,
    SEQUENCE,
    TENSOR,
    TRUE,
    UNK,
    UNKNOWN,
    Atom,
    Value,
    by_world,
    device,
    join,
    lift,
    negated,
    one,
    pick,
    port,
    tensor,
    tested,
    truth,
)

DEVICE_TEXT = re.compile(r"(cuda|mps|cpu|xpu|npu|hpu|mlu|musa|meta)(:.*)?\Z", re.S)
MAX_TEXT = 60
"""A text this long is no device, no backend and no name of a system."""
_BUILTINS = frozenset(facts.LOOKERS | facts.EXITS | facts.ERRORS | {"super"})


class Expressions(Conditions):
    expressions: dict[type[ast.AST], Callable[[Any], Value]]

    def eval(self, node: ast.expr) -> Value:
        function = self.expressions.get(node.__class__)
        return function(node) if function is not None else UNK

    # literals and names

    def e_Constant(self, node: ast.Constant) -> Value:
        value = node.value
        if isinstance(value, str):
            if len(value) < MAX_TEXT:
                match = DEVICE_TEXT.match(value)
                if match:
                    return Atom(DEVICE, match.group(1), node)
                return Atom(CONST, value, node)
            return ON_HOST
        return Atom(CONST, value, node)

    def e_Name(self, node: ast.Name) -> Value:
        value = self.frame.env.get(node.id)
        if value is not None and self.frame.function is None:
            self.global_reads.add(node.id)
        if value is None:
            for outer in self.frame.up:
                value = outer.get(node.id)
                if value is not None:
                    self.global_reads.add(node.id)
                    if node.id in self.rebound and value.__class__ is Atom and value.kind == CONST:
                        return Atom(UNKNOWN, symbol=("global", node.id))
                    break
            else:
                return Atom(NAME, node.id) if node.id in _BUILTINS or node.id == "open" else UNK
        if value.__class__ is Atom and not self.calling:
            if value.kind == FUNCTION:
                value.v.escaped = True
            elif value.kind == NAME:
                return self.resolved(value, node)
        return value

    def resolved(self, atom: Atom, node: ast.expr) -> Value:
        """A name that the file imports from its project, as that says; else the name."""
        if self.project is None or "." not in str(atom.v) or atom.v.startswith("torch."):
            return atom
        found = self.project.value(atom.v)
        return found if found is not None else atom

    def e_Attribute(self, node: ast.Attribute) -> Value:
        if isinstance(node.value, ast.Name | ast.Attribute):
            key = self.key(node)
            if key is not None:
                value = self.lookup(key)
                if value is not None:
                    return value
        calling, self.calling = self.calling, True
        base = self.eval(node.value)
        self.calling = calling
        value = self.attribute(base, node.attr, node)
        if value is UNK:
            key = self.key(node)
            if key is not None:
                return Atom(UNKNOWN, symbol=(self.frame.function, key))
        if not calling and value.__class__ is Atom and value.kind == NAME:
            return self.resolved(value, node)
        return value

    def attribute(self, base: Value, name: str, node: ast.expr) -> Value:
        if name in ("is_cuda", "is_mps", "is_cpu"):
            self.device_tests.add(node)
            if name == "is_cuda":
                self.cuda_tests.add(node)
            return self.on(base, name[3:], node)
        if base.__class__ is Atom:
            return self.member(base, name, node)
        return by_world(lambda worlds, atom: self.member(atom, name, node), base)

    def member(self, atom: Atom, name: str, node: ast.expr) -> Value:
        kind = atom.kind
        if kind == UNKNOWN or atom is BOT:
            return device("?") if name == "device" else UNK
        if kind == NAME:
            return self.named(f"{atom.v}.{name}", node)
        if kind == DEVICE:
            if name == "type":
                return atom.but(made=False)
            return ON_HOST if name == "index" else UNK
        if kind in (TENSOR, MODULE):
            if name == "device":
                return device(atom.v[0], None, atom.tests)
            if name == "dtype":
                return Atom(DTYPE, atom.v[1])
            if name in ("shape", "ndim", "requires_grad", "training"):
                return ON_HOST
            return tensor(atom.v[0], atom.v[1], atom.tests)
        if kind == INSTANCE:
            return self.of_instance(atom.v, name)
        if kind == CLASS:
            function = atom.v.methods.get(name)
            if function is not None:
                return Atom(FUNCTION, function)
            found = atom.v.attribute(name)
            return found if found is not None else UNK
        if kind == NAMESPACE:
            found = atom.v.get(name)
            return found if found is not None else Atom(UNKNOWN, symbol=(id(atom.v), name))
        if kind == ARRAY:
            return atom if name in ("T", "flat", "real") else ON_HOST
        return UNK

    def of_instance(self, cls: Class, name: str) -> Value:
        function = cls.methods.get(name)
        if function is not None:
            return self.summary(function)[0] if function.prop else Atom(BOUND, function)
        value = cls.attribute(name)
        if value is not None:
            return value
        if self.project is not None:
            for base in cls.bases:
                inherited = self.project.base(base)
                if inherited is not None and inherited is not cls:
                    found = self.inherited(inherited, name)
                    if found is not None:
                        return found
        if name == "device":
            return device("?")
        return Atom(UNKNOWN, symbol=(cls, name))

    def inherited(self, cls: Class, name: str) -> Value | None:
        """What a class of another file gives its heirs."""
        function = cls.methods.get(name)
        if function is not None:
            return self.summary(function)[0] if function.prop else Atom(BOUND, function)
        value = cls.attribute(name)
        return foreign(value, ()) if value is not None else None

    def named(self, qualified: str, node: ast.expr) -> Value:
        """What a qualified name of torch or another package is."""
        row = facts.ATTRIBUTES.get(qualified)
        if row is not None:
            return self.answer(row, node)
        if qualified in facts.PLATFORM:
            return Atom(PLATFORM, qualified)
        if qualified.startswith("torch.Tensor."):
            return UNK
        return Atom(NAME, qualified, node)

    # operators

    def e_BoolOp(self, node: ast.BoolOp) -> Value:
        frame = self.frame
        mask, why = frame.mask, frame.tests
        conjunction = isinstance(node.op, ast.And)
        value: Value | None = None
        for item in node.values:
            self.mark(item)
            found = self.eval(item)
            value = (
                found if value is None else lift(_both if conjunction else _either, value, found)
            )
            yes, no, _ = self.worlds_of(found)
            frame.mask = yes if conjunction else no
            if not frame.mask:
                break
        frame.mask, frame.tests = mask, why
        assert value is not None
        return port(value)

    def e_UnaryOp(self, node: ast.UnaryOp) -> Value:
        value = self.eval(node.operand)
        if isinstance(node.op, ast.Not):
            return lift(_not, value)
        if isinstance(node.op, ast.USub):
            return lift(_minus, value)
        return lift(lambda atom: atom if atom.kind in (TENSOR, ARRAY) else UNK, value)

    def e_IfExp(self, node: ast.IfExp) -> Value:
        frame = self.frame
        yes, no, tests = self.cond(node.test)
        mask, why, arm = frame.mask, frame.tests, frame.arm
        values: list[Value] = []
        for worlds, branch in ((yes, node.body), (no, node.orelse)):
            frame.mask = worlds
            frame.tests = why | tests if worlds & MACS != mask & MACS else why
            if not arm and (yes != mask or no != mask):
                frame.arm = id(node)
            self.mark(branch)
            values.append(self.eval(branch) if worlds else BOT)
            frame.arm = arm
        frame.mask, frame.tests = mask, why
        parted = yes != mask or no != mask
        return pick(yes, values[0], no, values[1], tests if parted else NO_TESTS)

    def e_NamedExpr(self, node: ast.NamedExpr) -> Value:
        value = self.eval(node.value)
        self.bind(node.target, value)
        return value

    def e_BinOp(self, node: ast.BinOp) -> Value:
        a, b = self.eval(node.left), self.eval(node.right)
        if a is UNK and b is UNK:
            return UNK
        self.counted(a, node)
        self.counted(b, node)
        self.meet(node, (a, b))
        value = lift(arithmetic, a, b)
        if isinstance(node.left, ast.Constant) and value.__class__ is Atom and value.kind == DEVICE:
            return value.but(node=node)  # "cuda:%d" % index
        return value

    def e_JoinedStr(self, node: ast.JoinedStr) -> Value:
        first = node.values[0] if node.values else None
        values = [
            self.eval(item.value) if isinstance(item, ast.FormattedValue) else UNK
            for item in node.values
        ]
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            match = DEVICE_TEXT.match(first.value)
            if match:
                return Atom(DEVICE, match.group(1), node)
        elif isinstance(first, ast.FormattedValue):
            if one(values[0], self.frame.mask).kind == DEVICE:
                return values[0]
        return ON_HOST

    # containers

    def e_Tuple(self, node: ast.Tuple | ast.List | ast.Set) -> Value:
        return Atom(SEQUENCE, tuple([self.eval(item) for item in node.elts]))

    e_List = e_Set = e_Tuple

    def e_Dict(self, node: ast.Dict) -> Value:
        found: dict[Any, Value] = {}
        for key, item in zip(node.keys, node.values, strict=True):
            value = self.eval(item)
            if isinstance(key, ast.Constant):
                found[key.value] = value
        return Atom(MAPPING, found)

    def e_Subscript(self, node: ast.Subscript) -> Value:
        value = self.eval(node.value)
        index = self.eval(node.slice)
        if value is UNK:
            return UNK
        if value.__class__ is Atom and index.__class__ is Atom:
            return _item(value, index)
        return port(
            by_world(lambda worlds, atom: by_world(lambda _, at: _picked(atom, at), index), value)
        )

    def e_Slice(self, node: ast.Slice) -> Value:
        for item in (node.lower, node.upper, node.step):
            if item is not None:
                self.eval(item)
        return UNK

    def e_Starred(self, node: ast.Starred) -> Value:
        self.eval(node.value)
        return UNK

    # functions without a name, generators

    def e_ListComp(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
    ) -> Value:
        frame = self.frame
        env, mask, why = frame.env, frame.mask, frame.tests
        frame.env = dict(env)
        frame.loops += 1
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
                self.eval(part)
        frame.loops -= 1
        frame.env, frame.mask, frame.tests = env, mask, why
        return UNK

    e_SetComp = e_GeneratorExp = e_DictComp = e_ListComp

    def turns(self, node: ast.expr) -> int | None:
        """The worlds in which `range(torch.cuda.device_count())` has a turn at all."""
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            return None
        if node.func.id != "range" or len(node.args) != 1:
            return None
        yes, _, tests = self.worlds_of(self.eval(node.args[0]))
        return yes if tests else None

    def items_of(self, value: Value) -> Value:
        """What a loop over a value gives its variable."""
        if value.__class__ is Atom:
            if value.kind == SEQUENCE and value.v:
                found: Value = value.v[0]
                for item in value.v[1:]:
                    found = lift(join, found, item)
                return lift(
                    lambda atom: UNK if atom.kind == CONST and len(value.v) > 1 else atom, found
                )
            if value.kind == TENSOR:
                return value
            if value.kind == LOADER:
                # What a loader gives is on the CPU, whoever takes it.
                batch = tensor("cpu")
                return Atom(SEQUENCE, (UNK, batch)) if value.v == "numbered" else batch
        return UNK

    def e_Lambda(self, node: ast.Lambda) -> Value:
        frame = self.frame
        env = frame.env
        names = (*node.args.args, *node.args.kwonlyargs)
        frame.env = {**env, **{item.arg: UNK for item in names}}
        value = self.eval(node.body)
        frame.env = env
        return Atom(LAMBDA, value, node)

    def e_Await(self, node: ast.Await) -> Value:
        return self.eval(node.value)

    def e_Yield(self, node: ast.Yield | ast.YieldFrom) -> Value:
        if node.value is not None:
            self.kept(self.eval(node.value))
        return UNK

    e_YieldFrom = e_Yield

    global_reads: set[str]
    """Names of the module that are read."""
    rebound: frozenset[str]
    """Names that some function of the file declares global: anything may set them."""


def _both(a: Atom, b: Atom) -> Atom:
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


def _either(a: Atom, b: Atom) -> Atom:
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


def _not(atom: Atom) -> Atom:
    known = truth(atom)
    if known is None:
        symbol = negated(atom.symbol) if atom.symbol is not None else None
        return Atom(UNKNOWN, None, None, atom.tests, symbol=symbol)
    return Atom(CONST, not known, None, atom.tests)


def _minus(atom: Atom) -> Atom:
    if atom.kind == CONST and isinstance(atom.v, int | float):
        return Atom(CONST, -atom.v, atom.node)
    return atom if atom.kind in (TENSOR, ARRAY, DEVICE) else UNK


def arithmetic(a: Atom, b: Atom) -> Atom:
    """`a + b` and its like."""
    if a.kind == DEVICE:  # "cuda:" + str(i), "cuda:%d" % i
        return a
    if a.kind == TENSOR or b.kind == TENSOR:
        left, right = (a, b) if a.kind == TENSOR else (b, a)
        if right.kind == TENSOR and right.v[0] != left.v[0]:
            return tensor("?")
        wide = right.kind == TENSOR and right.v[1] != left.v[1]
        scalar = left.scalar and (right.kind != TENSOR or right.scalar)
        return tensor(left.v[0], None if wide else left.v[1], scalar=scalar)
    if a.kind == ARRAY or b.kind == ARRAY:
        return a if a.kind == ARRAY else b
    if a.kind == CONST and b.kind == CONST:
        return ON_HOST
    return UNK


def _picked(atom: Atom, index: Atom) -> Value:
    """An item, hanging on the tests that chose it."""
    return lift(lambda item: tested(item, index.tests), _item(atom, index))


def _item(atom: Atom, index: Atom) -> Value:
    if atom.kind in (TENSOR, DEVICE, ARRAY):
        return atom
    if atom.kind == SEQUENCE and index.kind == CONST and isinstance(index.v, int):
        if -len(atom.v) <= index.v < len(atom.v):
            found: Value = atom.v[index.v]
            return found
    if atom.kind == MAPPING and index.kind in (CONST, DEVICE):
        value: Value = atom.v.get(index.v, UNK)
        return value
    return UNK
