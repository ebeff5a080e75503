"""What Python's own functions give back."""

from __future__ import annotations

import ast
from functools import partial

from mpslint.facts import machines as facts
from mpslint.facts.arrays import INTEGER, REAL
from mpslint.facts.priors import call_worlds
from mpslint.semantics.worlds.comparing import is_cuda_type
from mpslint.semantics.worlds.expressions import Expressions
from mpslint.semantics.worlds.kernels import is_library
from mpslint.semantics.worlds.machines import ALL, CUDA, MACS, NVIDIA
from mpslint.semantics.worlds.numbers import FRACTION, WHOLE, columns, of_kind, tells
from mpslint.semantics.worlds.operators import logical_and, logical_or
from mpslint.semantics.worlds.refining import is_compared_type
from mpslint.semantics.worlds.values import (
    ARRAY,
    BOT,
    CONST,
    DEVICE,
    INSTANCE,
    NAME,
    NAMESPACE,
    NO_TESTS,
    ON_HOST,
    SEQUENCE,
    STREAMED,
    TRUE,
    UNK,
    UNKNOWN,
    Atom,
    Cases,
    Tests,
    Value,
    by_world,
    cases_of,
    holds_device,
    is_counted_zero,
    lift,
    one,
    pack,
)
from mpslint.semantics.worlds.wrapping import ATTRIBUTE, WRAPPERS, is_wrapped, wraps_on_some

_MAX_ROWS = 8
_OTHER_BACKENDS = frozenset({"npu", "mlu", "musa", "hpu", "xpu", "gcu", "sdaa", "dml"})


class BuiltinCalls(Expressions):
    def call_builtin(self, name: str, node: ast.Call, args: list[Value]) -> Value:
        for value in args:
            self.looked_at(value)
        if name == "range":
            for value in args:
                self.counted(value, node)
            return Atom(STREAMED, WHOLE)
        if name == "str" and args:
            return lift(lambda atom: atom if atom.kind in (DEVICE, UNKNOWN) else ON_HOST, args[0])
        if name in ("float", "int", "bool") and args:
            number = args[0] if one(args[0], ALL).kind in (CONST, UNKNOWN) else ON_HOST
            return number if name == "bool" else lift(partial(_as_number, name), number)
        if name in ("any", "all") and args:
            return self._any_or_all(name, args[0], node.args[0])
        if name == "min" and any(
            is_counted_zero(atom) for value in args for _, atom in cases_of(value)
        ):
            return self._least(ALL, args)
        if name == "len" and args and type(one(args[0], CUDA).v) is int:
            return args[0]  # a tuple of the machine's, known by its length alone
        if name in ("len", "min", "max", "sum", "abs", "round"):
            return UNK
        if name == "hasattr" and len(node.args) == 2:
            return self._has_attribute(node, args)
        if name == "isinstance" and len(args) == 2 and wraps_on_some(args[0]):
            return is_wrapped(args[0]) if _names_wrapper(args[1]) else UNK
        if name == "isinstance" and len(args) == 2 and is_cuda_type(one(args[1], ALL)):
            self.device_tests.add(node)
            self.cuda_tests.add(node)
            return self.on(args[0], "cuda", node)
        if name == "isinstance" and len(args) == 2 and _is_of_a_group(args[1]):
            self.own_tests.add(node)  # Who has such an object has a process for each GPU.
            mine = frozenset((node,))
            there, absent = Atom(UNKNOWN, None, None, mine), Atom(CONST, False, None, mine)
            return pack([(NVIDIA, there), (ALL & ~NVIDIA, absent)])
        if name == "getattr" and len(args) >= 2:
            return self._get_attribute(node, args)
        if name == "vars" and args and one(args[0], ALL).kind == NAMESPACE:
            return args[0]  # the same values, by the same names
        if name == "super":
            cls = self.frame.cls
            return Atom(INSTANCE, cls.parents[0]) if cls is not None and cls.parents else UNK
        if name == "next" and len(args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
            return self._first_of(node.args[0])
        if name == "next" and args and one(args[0], ALL).kind == STREAMED:
            return self.items_of(args[0])
        if name == "map" and len(args) == 2 and isinstance(node.args[0], ast.Lambda):
            return Atom(SEQUENCE, (self.applied(node.args[0], [self.items_of(args[1])]),))
        if name in ("next", "iter") and args:
            return args[0]
        if name == "enumerate" and args and one(args[0], ALL).kind == STREAMED:
            return Atom(STREAMED, Atom(SEQUENCE, (UNK, self.items_of(args[0]))))
        if name == "zip" and len(args) == 1 and isinstance(node.args[0], ast.Starred):
            rows = self.each.pop(node.args[0], UNK)
            return columns(self.items_of(rows)) or UNK
        if name == "zip" and args and not node.keywords:
            parts = Atom(SEQUENCE, tuple(map(self.items_of, args)))
            return Atom(STREAMED, parts) if tells(parts) else UNK
        if name in ("list", "tuple") and args and one(args[0], ALL).kind == ARRAY:
            return Atom(STREAMED, args[0]) if tells(args[0]) else UNK
        if name in ("list", "tuple", "sorted", "set", "reversed") and args:
            return args[0] if one(args[0], ALL).kind in (SEQUENCE, STREAMED) else UNK
        return UNK

    def _first_of(self, node: ast.GeneratorExp) -> Value:
        """`next(d for d, ok in (("cuda", is_available()), ("cpu", True)) if ok)`: a table
        of devices, of which the first that is there is taken."""
        (generator, *more), frame = node.generators, self.frame
        recording, self.recording = self.recording, False
        table = self.eval(generator.iter)
        found: list[tuple[int, Value, Tests]] = []
        if table.__class__ is Atom and table.kind == SEQUENCE and not more:
            env, mask = frame.env, frame.mask
            rest = mask
            for row in table.v[:_MAX_ROWS]:
                frame.env, frame.mask = dict(env), rest
                self.bind(generator.target, row)
                tests = NO_TESTS
                for test in generator.ifs:
                    yes, no, asked = self.cond(test)
                    if yes & no:
                        rest = 0
                    frame.mask, tests = yes, tests | asked
                found.append((frame.mask, self.eval(node.elt), tests))
                rest &= ~frame.mask
            frame.env, frame.mask = env, mask
        self.recording = recording
        value: Value = BOT
        left = 0
        for worlds, item, tests in reversed(found):
            value = self.picked(worlds, item, left, value, tests)
            left |= worlds
        return value if found and left == frame.mask else UNK

    def _least(self, worlds: int, args: list[Value]) -> Value:
        """`min(asked, torch.cuda.device_count())`: none where there are none."""
        cases: list[tuple[int, Atom]] = []
        rest = worlds
        for value in args:
            for mask, atom in cases_of(value, rest):
                if is_counted_zero(atom):
                    cases.append((mask, atom))
                    rest &= ~mask
        cases.append((rest, UNK))
        return pack(cases)

    def _any_or_all(self, name: str, value: Value, node: ast.expr) -> Value:
        """All of a comprehension are what each of its elements is: who asks that has some. Whether
        any is stays open, as for a switch: what it chooses is told as a choice."""
        if isinstance(node, ast.GeneratorExp | ast.ListComp):
            each = self.each.pop(node, UNK)
            return each if name == "all" else UNK
        first = one(value, ALL)
        if value.__class__ is not Atom or first.kind != SEQUENCE or not first.v:
            return UNK
        found: Value = first.v[0]
        for item in first.v[1:]:
            found = lift(logical_or if name == "any" else logical_and, found, item)
        return found

    def _has_attribute(self, node: ast.Call, args: list[Value]) -> Value:
        holder, attribute = one(args[0], ALL), node.args[1]
        if isinstance(attribute, ast.Constant) and attribute.value == ATTRIBUTE:
            return is_wrapped(args[0]) if wraps_on_some(args[0]) else UNK
        if holder.kind == NAME and str(holder.v).partition(".")[0] == "torch":
            if not isinstance(attribute, ast.Constant):
                return UNK
            if facts.knows_mps(f"{holder.v}.{attribute.value!s}"):
                return self.answer(facts.KNOWN_OF_MPS, node)
            if attribute.value not in _OTHER_BACKENDS:
                return TRUE  # In every torch that is still used.
        if isinstance(attribute, ast.Constant) and attribute.value == "type":
            return self._has_type(args[0], node.args[0])
        return UNK

    def _has_type(self, value: Value, named: ast.expr) -> Value:
        """`hasattr(device, "type")`: what is used as a device and has no type is the number of a
        CUDA GPU, or a text, which a Mac's devices are not."""
        function = self.frame.function
        if function is None or not is_compared_type(function.node, named):
            return UNK

        def ask(worlds: int, atom: Atom) -> Value:
            if atom.kind not in (UNKNOWN, DEVICE):
                return UNK
            return pack([(worlds & MACS, TRUE), (worlds & ~MACS, UNK)])

        return by_world(ask, value)

    def _get_attribute(self, node: ast.Call, args: list[Value]) -> Value:
        if args[1].__class__ is Cases:
            return by_world(
                lambda worlds, atom: self._get_attribute(node, [args[0], atom, *args[2:]]), args[1]
            )
        if len(args) == 2:
            self.used(args[0])
        attribute, holder = one(args[1], ALL), one(args[0], ALL)
        if attribute.kind not in (CONST, DEVICE) or not isinstance(attribute.v, str):
            if holder.kind == NAME and is_library(str(holder.v)):
                return Atom(NAME, f"{holder.v}.*")  # one of its operators
            return UNK
        if holder.kind in (NAME, INSTANCE, NAMESPACE) and args[0].__class__ is Atom:
            found = self.attribute(args[0], attribute.v, node)
            if one(found, ALL).kind != UNKNOWN:
                return found
        if len(args) > 2 and holds_device(args[2]):
            return lift(lambda atom: atom.but(maybe=True) if atom.kind == DEVICE else atom, args[2])
        return UNK


def _as_number(name: str, atom: Atom) -> Atom:
    """What `float(x)` and `int(x)` give."""
    if name == "int":
        return of_kind(atom, INTEGER)
    return FRACTION if atom.kind == CONST and type(atom.v) is not bool else of_kind(atom, REAL)


def _is_of_a_group(value: Value) -> bool:
    """Whether this is a class of which CUDA alone has objects (`FullyShardedDataParallel`), or
    several that all are; what wraps for several GPUs of one process is a choice that is told."""
    atoms = [atom for _, atom in cases_of(value)]
    return all(
        str(atom.v) not in WRAPPERS and call_worlds(str(atom.v)) == "cuda"
        if atom.kind == NAME
        else atom.kind == SEQUENCE and bool(atom.v) and all(map(_is_of_a_group, atom.v))
        for atom in atoms
    )


def _names_wrapper(value: Value) -> bool:
    """Whether this is a wrapper's class, or one of several of which one is."""
    return any(
        atom.v in WRAPPERS
        if atom.kind == NAME
        else atom.kind == SEQUENCE and any(map(_names_wrapper, atom.v))
        for _, atom in cases_of(value)
    )
