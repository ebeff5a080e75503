"""Where values go: devices that place something, are kept out of sight, or are looked at."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from mpslint.facts import machines as facts
from mpslint.facts.priors import matches, places_elsewhere
from mpslint.semantics.worlds.configurations import MAX_NESTED
from mpslint.semantics.worlds.counts import Counts
from mpslint.semantics.worlds.events import HANDED_ON, Kind
from mpslint.semantics.worlds.joining import parted
from mpslint.semantics.worlds.loaded import is_loaded, left_on_host, meets_on_cuda
from mpslint.semantics.worlds.machines import ALL, CPU, CUDA, MAC, MACS, NVIDIA
from mpslint.semantics.worlds.patched import acts_cuda
from mpslint.semantics.worlds.registering import names_operator, without_types
from mpslint.semantics.worlds.state import Env
from mpslint.semantics.worlds.values import (
    ARRAY,
    BOT,
    CONST,
    DEVICE,
    DTYPE,
    INSTANCE,
    LAMBDA,
    MAPPING,
    MODULE,
    NAME,
    NAMESPACE,
    NO_TESTS,
    ONE_OF_THEM,
    SEQUENCE,
    TENSOR,
    UNKNOWN,
    Atom,
    Cases,
    Value,
    by_world,
    cases_of,
    device,
    dtype_of,
    holds_device,
    lift,
    moved,
    one,
    pack,
    places,
    where,
)

_KEPT = frozenset({SEQUENCE, NAMESPACE, MAPPING, LAMBDA, DEVICE, NAME})
"""What says something wherever it goes, or holds what does."""
_MIXED_PRECISION = facts.CUDA_AUTOCAST | facts.CUDA_SCALER


class Placing(Counts):
    def looked_at(self, value: Value) -> None:
        """Somebody looks at a device, or places with it: what becomes of it is seen."""
        if holds_device(value):
            for _, atom in cases_of(value):
                if atom.kind == DEVICE:
                    self.seen.update(places(atom))

    def placed_with(self, values: Iterable[Value]) -> None:
        for value in values:
            devices = [atom for _, atom in cases_of(value) if atom.kind == DEVICE]
            self.placed.update(node for atom in devices for node in places(atom))

    def is_left_to_others(self, name: str, written: Iterable[ast.expr]) -> bool:
        """Whether nothing here is placed with the devices that are written in these places, and
        another file of the project takes the name that holds them."""
        if not self.placed.isdisjoint(written):
            return False
        return self.project is not None and self.project.takes(name)

    def place(self, value: Value, use: ast.AST, name: str = "") -> Value:
        """`value` says where something goes. Gives the device in each world, repaired where it is
        one that the machine lacks: what follows is judged as if that had been mended."""
        kinds = {atom.kind for _, atom in cases_of(value, self.frame.mask)}
        if DEVICE in kinds:
            self.looked_at(value)
            self.placed_with([value])
            self.emit(Kind.PLACED, use, name=name, value=value, use=use)
        elif UNKNOWN in kinds:
            self.emit(Kind.PLACED, use, name=name, value=device("?"), use=use)
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
        if not self.recording or (value.__class__ is Atom and value.kind not in _KEPT):
            return
        mask = self.frame.mask
        first = one(value, mask)
        if value.__class__ is Cases and all(atom is first for _, atom in cases_of(value, mask)):
            value = first  # Only worlds that do not come here have something else.
        if first.kind == SEQUENCE and value.__class__ is Atom:
            for item in first.v:
                self.kept(item, "", node)
            return
        if first.kind in (NAMESPACE, MAPPING) and value.__class__ is Atom:
            self._kept_in(first, node, MAX_NESTED)
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
        if first.kind == NAME and first.v in _MIXED_PRECISION:
            if value.__class__ is Atom and isinstance(first.node, ast.expr):
                self.emit(Kind.AUTOCAST, first.node, name=first.v, value=device("cuda"))
            return
        if value.__class__ is Cases and attribute and name not in self.read_attributes:
            at = node if node is not None else next((t for a in atoms for t in a.tests), None)
            if at is not None and any(type(atom.v) is bool for atom in atoms):
                self.emit(Kind.DECIDED, at, name=name, value=value)

    def _kept_in(self, holder: Atom, node: ast.AST | None, depth: int) -> None:
        for key, item in holder.v.items():
            if item.__class__ is not Atom or item.kind not in (NAMESPACE, MAPPING):
                self.kept(item, str(key), node)
            elif depth:
                self._kept_in(item, node, depth - 1)

    def given(
        self, node: ast.Call, args: list[Value], keywords: Env, *, looks: bool, name: str = ""
    ) -> None:
        """Arguments to something that cannot be followed: it may place what it makes there."""
        if (name and places_elsewhere(name)) or acts_cuda(self.frame.patched):
            return
        if names_operator(args):
            args, keywords = [], without_types(keywords)
        if not looks:
            for value in (*args, *keywords.values()):
                self._flags_in(value, node)
            for value in args:
                self.counted(value, node)
                if holds_device(value):
                    self.place(value, node, HANDED_ON)
                elif value.__class__ is Atom and value.kind == MAPPING:
                    self.kept(value)  # a configuration: the keys say what is a device
        for key, value in keywords.items():
            if key in facts.HARMLESS_KEYWORDS:
                continue
            first = one(value, self.frame.mask)
            if first.kind == MAPPING:
                for item in first.v.values():
                    if holds_device(item):
                        self.place(item, node, HANDED_ON)
            elif holds_device(value):
                self.place(value, node, HANDED_ON)
            elif value.__class__ is Cases:
                self.counted(value, node)
                if not looks:
                    self.emit(Kind.DECIDED, node, value=value, name=key)

    def given_away(self, node: ast.Call, args: list[Value], keywords: Env) -> None:
        """Arguments to a function of another file, which is followed there without knowing them:
        devices, and what holds flags. What only CUDA's arm gives it has its twin in the other."""
        if not self.frame.mask & MAC:
            return
        told = {name: value for name, value in keywords.items() if _says_where(value)}
        self.given(node, [value for value in args if _says_where(value)], told, looks=False)

    def _flags_in(self, value: Value, node: ast.Call) -> None:
        """Flags of a namespace that is handed on and, by their names, ask for CUDA: others decide
        by them where things go."""
        if value.__class__ is not Atom or value.kind != NAMESPACE:
            return
        for name, flag in value.v.items():
            if flag.__class__ is not Cases or not matches("cuda-switches", str(name)):
                continue
            if any(type(atom.v) is bool for _, atom in cases_of(flag)):
                self.emit(Kind.DECIDED, node, value=flag, name=str(name))

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
                own = dtype_of(what) or (self.default_dtype if what.v.module else None)
                placed = (where(to) or "?", dtype or own)
                return what.but(placed=placed, tests=what.tests | tests)
            kind = MODULE if what.kind == MODULE else TENSOR
            maybe = what.maybe and dtype is None and what.kind in (ARRAY, TENSOR)
            here = (where(to) or "?", dtype or old)
            unread = what.unread if what.unread == ONE_OF_THEM else ""
            return Atom(
                *(kind, here, None, tests, maybe),
                scalar=what.scalar,
                wrapped=what.wrapped,
                unread=unread,
            )

        return lift(move, base, place)

    def wide(
        self,
        value: Value,
        node: ast.AST,
        dtype: str | None,
        *,
        array: bool = False,
        module: bool = False,
        mixed: bool = False,
    ) -> None:
        """A tensor that has a dtype which MPS lacks, where it is on mps once ported, or a `module`
        that holds one; `mixed`: on some way it has another one."""
        if dtype not in facts.NOT_ON_MPS:
            return
        worlds = 0
        tests, likely, one_of_them = self.frame.tests, mixed, False
        for mask, atom in cases_of(value, self.frame.mask & MACS):
            if mixed and dtype_of(atom) != dtype:
                continue
            if atom.kind != DEVICE and where(atom) == "mps":
                worlds |= mask
                tests |= atom.tests
                likely = likely or atom.maybe
                one_of_them = one_of_them or atom.unread == ONE_OF_THEM
        if worlds:
            name = "array" if array else "tensor" if dtype != self.default_dtype else "default"
            if name != "default" and (one_of_them or (module and name == "tensor")):
                name = "module" if module else "one"
            wide = Atom(DTYPE, dtype)
            self.emit(
                Kind.WIDE, node, worlds=worlds, tests=tests, name=name, value=wide, likely=likely
            )

    def given_to_kernel(self, node: ast.Call, values: list[Value]) -> None:
        """An operator without a kernel for MPS; what it is given, or nothing where it asks for
        CUDA whatever it is given."""
        worlds, tests = (0, self.frame.tests) if values else (self.frame.mask, self.frame.tests)
        for value in values:
            for mask, atom in cases_of(value, self.frame.mask):
                if where(atom) == "mps" and atom.kind != DEVICE:
                    worlds |= mask
                    tests |= atom.tests
        if worlds & MACS:
            self.emit(Kind.FOREIGN, node, worlds=worlds & MACS, tests=tests)

    def meet(self, node: ast.AST, values: Iterable[Value]) -> None:
        """`values` are the operands of one operator: on a Mac some may be on its GPU while others
        were left on the CPU. A tensor without dimensions may stay there."""
        there = left = 0
        tests = self.frame.tests
        behind: Atom | None = None
        values = list(values)
        for value in values:
            for mask, atom in cases_of(value, self.frame.mask & MACS):
                on = where(atom)
                if on == "mps" and atom.kind != DEVICE:
                    there |= mask
                    tests |= atom.tests
                elif on == "cpu" and atom.kind == TENSOR and not atom.scalar:
                    left |= mask
                    behind = atom
                elif is_loaded(atom) and not meets_on_cuda(values, self.frame.mask):
                    left |= mask
                    behind = left_on_host(atom)
        if there & left and behind is not None:
            self.emit(Kind.MIXED, node, worlds=there & left, tests=tests, value=behind)

    def index(self, node: ast.AST, value: Value, index: Value) -> None:
        """`value[index]`: a tensor of the CPU takes none of the Apple GPU's."""
        items = one(index, self.frame.mask)
        given = items.v if items.kind == SEQUENCE else (index,)
        if all(one(item, self.frame.mask & MACS).kind != TENSOR for item in given):
            return
        for mask, atom in cases_of(value, self.frame.mask & MACS):
            if is_loaded(atom) or (where(atom) == "cpu" and atom.kind == TENSOR):
                for item in given:
                    self.meet_in(node, mask, left_on_host(atom), item)

    def meet_in(self, node: ast.AST, worlds: int, left: Atom, value: Value) -> None:
        on = [(mask, atom) for mask, atom in cases_of(value, worlds) if where(atom) == "mps"]
        there = sum(mask for mask, atom in on if atom.kind == TENSOR and not atom.scalar)
        if there:
            tests = self.frame.tests.union(*(atom.tests for _, atom in on))
            self.emit(Kind.MIXED, node, worlds=there, tests=tests, value=left)


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


def on_any_gpu(value: Value) -> Value:
    """The device that is meant by "gpu", "auto" or a number, where that is whatever GPU there is:
    by -1 the CPU is."""

    def meant(_: int, atom: Atom) -> Value:
        if atom.kind == UNKNOWN and atom.v and 0 in atom.v:  # or -1, where torch is missing
            return lift(lambda place: place.but(tests=atom.tests), ACCELERATOR)
        if atom.kind != CONST or isinstance(atom.v, bool):
            return atom
        if atom.v == -1:
            return device("cpu", None, atom.tests)
        if atom.v in ("gpu", "auto") or isinstance(atom.v, int):
            return lift(lambda place: place.but(tests=atom.tests), ACCELERATOR)
        return atom

    return by_world(meant, value)


def _says_where(value: Value) -> bool:
    """Whether a value is a device, chosen by the machine or for sure, or may hold one. One is not
    for sure that is a default, or what a switch leaves out or several GPUs take."""
    if value.__class__ is Atom:
        return value.kind in (NAMESPACE, MAPPING) or (value.kind == DEVICE and not value.maybe)
    return bool(parted(value, ALL)) or _suits_both(value) or _is_switched(value)


def _is_switched(value: Value) -> bool:
    """Whether a value is CUDA's device or the CPU, as a switch of the user's says."""
    atoms = [atom for _, atom in cases_of(value, ALL) if atom.kind == DEVICE]
    found = {where(atom) for atom in atoms if not atom.maybe}
    return {"cuda", "cpu"} <= found


def _suits_both(value: Value) -> bool:
    """Whether a value is a device that is CUDA's with an NVIDIA GPU and MPS on a Mac: what a port
    makes of one that is told, and what a machine with CUDA is told stays the same. So does what it
    is told of a default, which was not for sure before either."""
    atoms = [
        (mask, atom)
        for mask, atom in cases_of(value, ALL)
        if atom.kind == DEVICE and not atom.maybe
    ]
    suited = [mask for mask, atom in atoms if where(atom) == "mps" and mask & MAC]
    return bool(suited) and any(where(atom) == "cuda" and mask & CUDA for mask, atom in atoms)
