"""What all parts of the interpreter share: its state, its log, and how values go where."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from mpslint.facts import machines as facts
from mpslint.facts.priors import places_elsewhere
from mpslint.semantics.worlds.events import Event, Kind
from mpslint.semantics.worlds.machines import (
    ALL,
    CPU,
    GPUS,
    MAC,
    MACHINES,
    MACS,
    NVIDIA,
    SWITCH,
    SWITCHES,
)
from mpslint.semantics.worlds.state import Env, Frame, Function
from mpslint.semantics.worlds.values import (
    ARRAY,
    BOT,
    CONST,
    DEVICE,
    INSTANCE,
    LAMBDA,
    MAPPING,
    MODULE,
    NAME,
    NAMESPACE,
    NO_TESTS,
    SEQUENCE,
    SOME,
    TENSOR,
    UNK,
    UNKNOWN,
    Atom,
    Cases,
    Symbol,
    Tests,
    Value,
    by_world,
    cases_of,
    device,
    dtype_of,
    lift,
    moved,
    one,
    pack,
    places,
    truth,
    where,
)

if TYPE_CHECKING:
    from mpslint.semantics.worlds.state import Class

MAX_DEPTH = 8
"""Calls are followed so deep: beyond, a summary of summaries adds nothing on 70 repositories."""
MAX_STEPS = 60_000
"""Statements that are run for one file, so that generated code of any length ends."""


class Project(Protocol):
    """The rest of the project, as far as a file asks for it."""

    def value(self, qualified: str) -> Value | None:
        """What an imported name holds; None where it is not the project's or cannot be read."""

    def base(self, qualified: str) -> Class | None:
        """An imported class."""

    def imports_on(self, module: str) -> int:
        """The worlds in which a module of the project can be imported."""

    def entered(self, name: str) -> int:
        """The worlds in which other files use a function of this one at all."""


class Core:
    """State and log; the mixins add the transfer of statements, expressions and calls."""

    project: Project | None
    frame: Frame
    log: list[Event]
    recording: bool
    depth: int
    steps: int
    reach: dict[ast.AST, int]
    """The worlds that come to statements, and to parts of expressions that few come to."""
    caught: set[ast.stmt]
    """Statements whose exceptions are dealt with in the same function."""
    slots: dict[Symbol, int]
    seen: set[ast.expr]
    """Devices written out that are compared or looked at, where that is seen."""
    own_tests: set[ast.expr]
    """Tests for what no port has: NCCL."""
    asking_mps: set[tuple[object, int]]
    """The functions and conditionals that ask for MPS: somebody has decided there."""
    mps_tests: set[ast.expr]
    """Tests that are true on a Mac alone."""
    device_tests: set[ast.expr]
    cuda_tests: set[ast.expr]
    read_attributes: frozenset[str]
    calling: bool
    asking: bool
    """In a test that asks for a device and for the machine."""

    # what the mixins give each other

    def eval(self, node: ast.expr) -> Value:
        raise NotImplementedError

    def cond(self, node: ast.expr) -> tuple[int, int, Tests]:
        raise NotImplementedError

    def bind(self, target: ast.expr, value: Value) -> None:
        raise NotImplementedError

    def block(self, body: list[ast.stmt]) -> None:
        raise NotImplementedError

    def summary(self, function: Function, given: Env | None = None) -> tuple[Value, int]:
        raise NotImplementedError

    def is_relevant(self, node: ast.AST) -> bool:
        raise NotImplementedError

    # names

    def lookup(self, key: str) -> Value | None:
        value = self.frame.env.get(key)
        if value is None:
            for outer in self.frame.up:
                value = outer.get(key)
                if value is not None:
                    return value
        return value

    @staticmethod
    def key(node: ast.expr) -> str | None:
        """`a.b.c` as text, None for anything else."""
        parts = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        if not parts:
            return node.id
        parts.append(node.id)
        return ".".join(reversed(parts))

    # the log

    def emit(
        self,
        kind: Kind,
        node: ast.AST,
        *,
        worlds: int | None = None,
        tests: Tests | None = None,
        name: str = "",
        value: Value = UNK,
        use: ast.AST | None = None,
        likely: bool = False,
    ) -> None:
        if not self.recording:
            return
        frame = self.frame
        self.log.append(
            Event(
                kind,
                node,
                frame.mask if worlds is None else worlds,
                frame.tests if tests is None else tests,
                name,
                value,
                use,
                frame.caught,
                frame.function,
                frame.arm,
                False,
                likely,
            )
        )

    def forget(self, mark: int, kinds: Iterable[Kind] | None = None) -> None:
        """Drops what was told since `mark`: it stands where, as it turned out, no Mac ever is."""
        if kinds is None:
            del self.log[mark:]
        else:
            gone = frozenset(kinds)
            self.log[mark:] = [event for event in self.log[mark:] if event.kind not in gone]

    def owned(self, worlds: int) -> None:
        """What comes next is for `worlds` alone, by what no port has: NCCL, kernels, a CUDA graph.
        What led here without a way out is CUDA's own as well."""
        frame = self.frame
        before, frame.mask = frame.mask, frame.mask & worlds
        if before & MACS and not frame.mask & MACS:
            frame.own = True
            if not frame.caught:
                start = frame.starts[-1]
                self.log[start:] = [event for event in self.log[start:] if event.passed]

    def leave(self) -> None:
        """Control leaves the function here: what led here runs on a Mac, whatever comes later."""
        if not self.recording or not self.frame.mask & MACS:
            return
        starts, forks = self.frame.starts, [*self.frame.forks, len(self.log)]
        for start, end in zip(starts, forks, strict=True):
            for event in self.log[start:end]:
                event.passed = True

    # switches

    def switched(self, symbol: Symbol) -> int | None:
        """The worlds in which what is unknown is true; None where it is not told apart."""
        if symbol[0] == "not":
            on = self.switched(symbol[1])  # type: ignore[arg-type]
            return None if on is None else ALL & ~on
        slot = self.slots.get(symbol)
        if slot is None:
            if len(self.slots) >= SWITCHES:
                return None
            slot = self.slots[symbol] = len(self.slots)
        return SWITCH[slot]

    def worlds_of(self, value: Value, *, switches: bool = False) -> tuple[int, int, Tests]:
        """The worlds, of those here, in which a value may be true, and may be false."""
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
        elif row[2] and not row[0]:
            self.mps_tests.add(node)
            self.asking_mps.add((self.frame.function, self.frame.arm))
        cases = []
        if self.frame.testing and node in self.cuda_tests:
            row = (row[0], row[1], row[2], row[2], row[4])
        for machine, said in zip(MACHINES, row, strict=True):
            atom = (
                Atom(UNKNOWN, None, None, tests)
                if said is None
                else Atom(SOME, 2, None, tests)
                if said is facts.SEVERAL
                else Atom(CONST, None if said is facts.ABSENT else said, None, tests)
            )
            cases.append((machine, atom))
        return pack(cases)

    def looked_at(self, value: Value) -> None:
        """Somebody looks at a device, or places with it: what becomes of it is seen."""
        for _, atom in cases_of(value):
            if atom.kind == DEVICE:
                self.seen.update(places(atom))

    # placing

    def place(self, value: Value, use: ast.AST) -> Value:
        """`value` says where something goes. Gives the device in each world, repaired where it is
        one that the machine lacks: what follows is judged as if that had been mended."""
        kinds = {atom.kind for _, atom in cases_of(value, self.frame.mask)}
        if DEVICE in kinds:
            self.looked_at(value)
            self.emit(Kind.PLACED, use, value=value, use=use)
        elif UNKNOWN in kinds:
            self.emit(Kind.PLACED, use, value=device("?"), use=use)
        return by_world(repaired, value)

    def kept(
        self,
        value: Value,
        name: str = "",
        node: ast.AST | None = None,
        *,
        attribute: bool = False,
        use: ast.AST | None = None,
    ) -> None:
        """A device goes where it cannot be followed, under this name; `attribute`: that of an
        object of the program's own; `use`: the module, for a name of its own."""
        if value is UNK or not self.recording:
            return
        mask = self.frame.mask
        first = one(value, mask)
        if first.kind == SEQUENCE and value.__class__ is Atom:
            for item in first.v:
                self.kept(item, "", node)
            return
        if first.kind in (NAMESPACE, MAPPING) and value.__class__ is Atom:
            for key, item in first.v.items():
                if not isinstance(item, Atom) or item.kind not in (NAMESPACE, MAPPING):
                    self.kept(item, str(key), node)
            return
        if first.kind == LAMBDA and value.__class__ is Atom:
            self.kept(first.v, name, node)
            return
        atoms = [atom for _, atom in cases_of(value, mask)]
        if any(atom.kind == DEVICE for atom in atoms):
            at = node if node is not None else next((p for a in atoms for p in places(a)), None)
            if at is not None:
                self.emit(Kind.KEPT, at, name=name, value=value, use=use, likely=attribute)
            return
        if first.kind == NAME and first.v in facts.CUDA_AUTOCAST | facts.CUDA_SCALER:
            if value.__class__ is Atom and isinstance(first.node, ast.expr):
                self.emit(Kind.AUTOCAST, first.node, name=first.v, value=device("cuda"))
            return
        if value.__class__ is Cases and attribute and name not in self.read_attributes:
            at = node if node is not None else next((t for a in atoms for t in a.tests), None)
            if at is not None and any(type(atom.v) is bool for atom in atoms):
                self.emit(Kind.DECIDED, at, name=name, value=value)

    def counted(self, value: Value, node: ast.AST) -> None:
        """The number of CUDA's devices, where a number of something is made of it."""
        if value.__class__ is not Cases or not self.recording:
            return
        for worlds, atom in cases_of(value, self.frame.mask):
            if worlds & MAC and atom.kind == CONST and atom.v == 0 and type(atom.v) is int:
                there = [
                    other
                    for _, other in cases_of(value, self.frame.mask & GPUS)
                    if other.kind == SOME
                    or (other.kind == CONST and type(other.v) is int and other.v)
                ]
                if there and atom.tests:
                    self.emit(Kind.COUNTED, node, value=value, tests=atom.tests)
                return

    def given(
        self, node: ast.Call, args: list[Value], keywords: Env, *, looks: bool, name: str = ""
    ) -> None:
        """Arguments to something that cannot be followed: it may place what it makes there."""
        if name and places_elsewhere(name):
            return
        if not looks:
            for value in args:
                self.counted(value, node)
                if _holds_device(value):
                    self.place(value, node)
        for key, value in keywords.items():
            if key in facts.HARMLESS_KEYWORDS:
                continue
            first = one(value, self.frame.mask)
            if first.kind == MAPPING:
                for item in first.v.values():
                    if _holds_device(item):
                        self.place(item, node)
            elif _holds_device(value):
                self.place(value, node)
            elif value.__class__ is Cases:
                self.counted(value, node)
                if not looks:
                    self.emit(Kind.DECIDED, node, value=value, name=key)

    def on_device(self, base: Value, place: Value, dtype: str | None = None) -> Value:
        """`base`, moved to a place."""

        def move(what: Atom, to: Atom) -> Atom:
            old = None
            if what.kind in (TENSOR, MODULE):
                old = what.v[1]
            elif what.kind == ARRAY:
                old = what.v
            tests = to.tests if to.kind == DEVICE else NO_TESTS
            if what.kind == INSTANCE:
                placed = (where(to) or "?", dtype or dtype_of(what))
                return what.but(placed=placed, tests=what.tests | tests)
            kind = MODULE if what.kind == MODULE else TENSOR
            return Atom(kind, (where(to) or "?", dtype or old), None, tests, scalar=what.scalar)

        return lift(move, base, place)

    def wide(self, value: Value, node: ast.AST, dtype: str | None, *, array: bool = False) -> None:
        """A tensor that has a dtype which MPS lacks, where it is on mps once ported."""
        if dtype not in facts.NOT_ON_MPS or not self.recording:
            return
        worlds = 0
        tests = self.frame.tests
        for mask, atom in cases_of(value, self.frame.mask & MACS):
            if atom.kind != DEVICE and where(atom) == "mps":
                worlds |= mask
                tests |= atom.tests
        if worlds:
            name = "array" if array else "tensor"
            wide = Atom("dtype", dtype)
            self.emit(Kind.WIDE, node, worlds=worlds, tests=tests, name=name, value=wide)

    def meet(self, node: ast.AST, values: Iterable[Value]) -> None:
        """`values` are the operands of one operator: on a Mac some may be on its GPU while others
        were left on the CPU. A tensor without dimensions may stay there."""
        if not self.recording:
            return
        there = left = 0
        tests = self.frame.tests
        behind: Atom | None = None
        for value in values:
            for mask, atom in cases_of(value, self.frame.mask & MACS):
                on = where(atom)
                if on == "mps" and atom.kind != DEVICE:
                    there |= mask
                    tests |= atom.tests
                elif on == "cpu" and atom.kind == TENSOR and not atom.scalar:
                    left |= mask
                    behind = atom
        if there & left and behind is not None:
            self.emit(Kind.MIXED, node, worlds=there & left, tests=tests, value=behind)


def _holds_device(value: Value) -> bool:
    return any(atom.kind == DEVICE for _, atom in cases_of(value))


def repaired(worlds: int, atom: Atom) -> Value:
    """Where a device ends up once it is asked for in the right way: cuda is mps on a Mac, and the
    CPU where there is neither; and the other way round for mps."""
    if atom.kind != DEVICE or atom.v not in ("cuda", "mps"):
        return atom
    if atom.v == "cuda":
        return pack(
            [
                (worlds & NVIDIA, atom),
                (worlds & MACS, moved(atom, "mps")),
                (worlds & CPU, moved(atom, "cpu")),
                (ALL & ~worlds, BOT),
            ]
        )
    return pack(
        [
            (worlds & MACS, atom),
            (worlds & NVIDIA, moved(atom, "cuda")),
            (worlds & CPU, moved(atom, "cpu")),
            (ALL & ~worlds, BOT),
        ]
    )


ACCELERATOR: Value = pack([(NVIDIA, device("cuda")), (MACS, device("mps")), (CPU, device("cpu"))])
"""The device of the machine, as a ported program selects it."""
