"""Where a run stands: the worlds that are here, why others are not, what names stand for."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from mpslint.records import NamedTuple
from mpslint.semantics.syntax.node_kinds import of_kinds
from mpslint.semantics.syntax.parameters import explicit_parameters
from mpslint.semantics.terms.facts_known import backend_word
from mpslint.semantics.worlds.events import Event
from mpslint.semantics.worlds.foreign import foreign
from mpslint.semantics.worlds.joining import join, port
from mpslint.semantics.worlds.machines import ALL, MAC, MACS, NVIDIA
from mpslint.semantics.worlds.values import (
    BOT,
    CONST,
    FUNCTION,
    NO_TESTS,
    UNK,
    UNKNOWN,
    Atom,
    Cases,
    Symbol,
    Tests,
    Value,
    cases_of,
    lift,
    one,
)

_MOVES = frozenset({"to", "cuda", "type", "type_as", "to_device", "device"})

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Env = dict[str, Value]


class Place(NamedTuple):
    """A line of another file."""

    path: str
    line: int


class Function:
    """A function of a file, with what its callers give it and what it gives back."""

    __slots__ = (
        "_moves",
        "_names_cuda",
        "callers",
        "calls",
        "cases",
        "cls",
        "decorated",
        "end_tests",
        "escaped",
        "gate",
        "handed",
        "home",
        "leading",
        "mask",
        "misfits",
        "node",
        "noted",
        "only_asked",
        "own",
        "prop",
        "refused",
        "relevant",
        "running",
        "static",
        "summaries",
        "takers",
        "tests",
        "up",
        "within",
    )  # fmt: skip

    def __init__(
        self,
        node: FunctionNode,
        cls: Class | None,
        up: list[Env],
        mask: int,
        tests: Tests,
        home: Any,
    ) -> None:
        self.node, self.cls, self.up, self.mask, self.tests = node, cls, up, mask, tests
        self.home = home
        """The interpreter of the file that it stands in."""
        self.calls: dict[int, tuple[int, Tests, Env]] = {}
        """By call: the worlds there, what keeps others away, the arguments by parameter."""
        self.handed: list[tuple[int, Tests]] = []
        """Where it is given to others, who may call it: the worlds, and what keeps others away."""
        self.takers: dict[Function, None] = {}
        """The functions of the file that are given it, and may call it."""
        self.cases: Env = {}
        """What the runner of a test gives it, by parameter."""
        self.callers: set[Function | None] = set()
        """The functions, or the module, in which these calls stand."""
        self.summaries: dict[object, tuple[Value, int]] = {}
        """By what is known of the arguments: the value returned, the worlds that come back."""
        self.noted: dict[object, tuple[tuple[Any, int], ...]] = {}
        """By the same: what raises in it on a Mac, and in which worlds."""
        self.within: list[object] = []
        """By what is known of the arguments: the calls of it that are looked into just now."""
        self.running = self.escaped = self.prop = self.static = self.decorated = False
        self.end_tests: Tests = NO_TESTS
        """The tests that keep worlds from its end."""
        self.own = False
        """Whether it ends in what only CUDA has."""
        self.misfits = False
        """Whether it ends in a call that does not fit what it calls, on some way."""
        self.refused = 0
        """The worlds that had ended in an error before some call of it."""
        self.gate: ast.expr | None = None
        """The condition that keeps a Mac from a call of it."""
        self.relevant = True
        self.leading = False
        """It is run for those that it calls alone: it names nothing that can matter."""
        self.only_asked: frozenset[str] | None = None
        """The parameters of which it only asks what they are, once somebody has looked."""
        self._moves: bool | None = None
        self._names_cuda: bool | None = None

    @property
    def moves_to_cuda(self) -> bool:
        """Whether it is the `cuda` method of a class of the project's own."""
        return self.cls is not None and self.node.name == "cuda"

    @property
    def names_cuda(self) -> bool:
        """Whether it sends something to CUDA by a text: `self.to("cuda:0")`."""
        if self._names_cuda is None:
            self._names_cuda = any(map(_goes_to_cuda, ast.walk(self.node)))
        return self._names_cuda

    @property
    def moves_input(self) -> bool:
        """Whether it may move what it is given."""
        if self._moves is None:
            self._moves = any(
                isinstance(item, ast.Attribute) and item.attr in _MOVES
                for item in ast.walk(self.node)
            )
        return self._moves

    def handing_on(self) -> Iterator[ast.expr]:
        """What is called in it with a parameter of its own."""
        given = self.node.args
        own = {one.arg for one in explicit_parameters(given)}
        own |= {one.arg for one in (given.vararg, given.kwarg) if one is not None}
        for call in of_kinds(self.node, (ast.Call,)):
            assert isinstance(call, ast.Call)
            for value in (*call.args, *(item.value for item in call.keywords)):
                name = value.value if isinstance(value, ast.Starred) else value
                if isinstance(name, ast.Name) and name.id in own:
                    yield call.func
                    break


def _goes_to_cuda(item: ast.AST) -> bool:
    return (
        isinstance(item, ast.Call)
        and isinstance(item.func, ast.Attribute)
        and item.func.attr == "to"
        and any(
            backend_word(given) == "cuda"
            for given in (*item.args, *(one.value for one in item.keywords))
        )
    )


class Class:
    """A class of a file: its methods, and what is stored in its attributes."""

    __slots__ = (
        "_assigned",
        "_moving",
        "bases",
        "cache",
        "given_away",
        "home",
        "made",
        "methods",
        "module",
        "node",
        "parents",
        "sites",
    )

    def __init__(self, node: ast.ClassDef, home: Any) -> None:
        self.node = node
        self.home = home
        """The interpreter of the file that it stands in."""
        self.methods: dict[str, Function] = {}
        self.sites: dict[str, dict[int, Value]] = {}
        """By attribute and place: what is stored there."""
        self.cache: dict[str, Value | None] = {}
        self.made: dict[int, tuple[int, Tests]] = {}
        """Where objects of the class are made, and in which worlds."""
        self.given_away = False
        """Whether an object is given the class itself, or a function that is not seen: whoever
        holds it makes more of it, with other arguments."""
        self.bases: list[str] = []
        """Qualified names of bases that the file imports."""
        self.parents: list[Class] = []
        """Bases that are known, of this file or of another."""
        self.module = False
        """Whether it is a module of torch's, as far as its bases say."""
        self._assigned: dict[str, list[tuple[ast.Attribute, ast.expr]]] | None = None
        self._moving: dict[Function, bool] = {}

    def derives_from(self, other: Class) -> bool:
        """Whether it is this class, or one of its bases is, as far as these are known."""
        return self is other or any(one.derives_from(other) for one in self.parents)

    def moves_input(self, method: Function) -> bool:
        """Whether a method may move what it is given: itself, in a method of the object that it
        hands it on to, be it one that only a derived class has, or in a function of its file."""
        if method not in self._moving:
            found = [method]
            for function in found:  # Those that are found meanwhile as well.
                for called in function.handing_on():
                    other = self._called(function, called)
                    if other is not None and other not in found:
                        found.append(other)
            self._moving[method] = any(function.moves_input for function in found)
        return self._moving[method]

    def _called(self, caller: Function, called: ast.expr) -> Function | None:
        """What a method of the object, or a function that it calls, calls by a name."""
        if isinstance(called, ast.Attribute):
            first = caller.node.args.args[:1]
            base = called.value
            is_own = isinstance(base, ast.Name) and [one.arg for one in first] == [base.id]
            return self.methods.get(called.attr) if is_own else None
        if not isinstance(called, ast.Name):
            return None
        value = next((names[called.id] for names in caller.up if called.id in names), UNK)
        found: Function | None = None
        if isinstance(value, Atom) and value.kind == FUNCTION:
            found = value.v
        return found

    def attribute(self, name: str) -> Value | None:
        """What an attribute holds: all that is stored in it, joined."""
        if name not in self.cache or self.parents:
            value: Value | None = None
            stored = self._stored(name)
            for site in stored:
                value = site if value is None else lift(join, value, site)
            if value is not None:
                # A plain constant says little: another method, or a caller, may set another. But
                # where it is set to something else on CUDA machines alone, the others keep it; and
                # what is one thing there and another here was decided for the machine.
                decided = _is_decided(value) or self._is_left_out(name, value)
                if not _is_for_cuda(stored) and not decided:
                    value = lift(
                        lambda atom: UNK if atom.kind == CONST and not atom.tests else atom, value
                    )
            # What is left of those that others store has passed this already, with its tests.
            for taken in self._inherited(name):
                value = taken if value is None else lift(join, value, taken)
            if value is not None:
                if value.__class__ is Cases:
                    value = port(value)
            self.cache[name] = value
        return self.cache[name]

    def _is_left_out(self, name: str, value: Value) -> bool:
        """Whether an attribute that is assigned in one place is None on a Mac, and something there
        where there is CUDA: `self.stream = torch.cuda.Stream() if IS_CUDA else None`."""
        here, there = one(value, MAC), [atom for _, atom in cases_of(value, NVIDIA)]
        if here.kind != CONST or here.v is not None or not there:
            return False
        return all(atom.kind != CONST for atom in there) and len(self._assigned_to(name)) == 1

    def _stored(self, name: str) -> list[Value]:
        """What is stored, by place. Where no Mac comes to one of these, a constant that a method
        stores which was not run, since it says nothing of devices, counts as well."""
        sites = self.sites.get(name, {})
        found = list(sites.values())
        if found and any(one(site, MACS) is BOT for site in found) and 0 not in sites:
            found += [
                Atom(CONST, value.value) if isinstance(value, ast.Constant) else UNK
                for target, value in self._assigned_to(name)
                if id(target) not in sites
            ]
        return found

    def _assigned_to(self, name: str) -> list[tuple[ast.Attribute, ast.expr]]:
        """The attributes of this name that are assigned to in the class, each with the value."""
        if self._assigned is None:
            self._assigned = {}
            for item in of_kinds(self.node, (ast.Assign,)):
                assert isinstance(item, ast.Assign)
                for target in item.targets:
                    if isinstance(target, ast.Attribute):
                        self._assigned.setdefault(target.attr, []).append((target, item.value))
        return self._assigned.get(name, [])

    def _taken_over(self, value: Value) -> Value:
        return foreign(value, self.home.nodes if self.home is not None else ())

    def _inherited(self, name: str) -> Iterator[Value]:
        for parent in self.parents:
            value = parent.attribute(name)
            if value is not None:
                yield value if parent.home is self.home else self._taken_over(value)


def _is_for_cuda(sites: Iterable[Value]) -> bool:
    """Whether a flag, or what is None at first, of these values by place, is stored somewhere that
    no Mac comes to."""
    left = [one(site, MACS) for site in sites]
    return any(atom is BOT for atom in left) and all(
        atom is BOT or (atom.kind == CONST and (atom.v is None or type(atom.v) is bool))
        for atom in left
    )


def _is_decided(value: Value) -> bool:
    """Whether a flag is known on a Mac, and is another where there is CUDA."""
    here = one(value, MAC)
    there = [atom for _, atom in cases_of(value, NVIDIA)]
    if here.kind == CONST and here.v is None:  # made where there is CUDA
        return all(atom.kind not in (CONST, UNKNOWN) for atom in there)
    return (
        here.kind == CONST
        and type(here.v) is bool
        and any(atom.kind == UNKNOWN or atom.v is (not here.v) for atom in there)
        and all(atom.kind in (CONST, UNKNOWN) for _, atom in cases_of(value))
    )


def is_dataset(cls: Class) -> bool:
    """Whether a class is one of torch's datasets, of which a loader takes samples."""
    return any(base.startswith("torch.") and base.endswith("Dataset") for base in cls.bases)


class Frame:
    """What belongs to one run of one function."""

    __slots__ = (
        "arm",
        "asked",
        "asks_probe",
        "broken",
        "built",
        "casting",
        "caught",
        "cls",
        "declared",
        "env",
        "errors",
        "forks",
        "function",
        "gate",
        "in_class",
        "inside",
        "joined",
        "mask",
        "more",
        "own",
        "patched",
        "probed",
        "probing",
        "raised",
        "refused",
        "replaced",
        "returns",
        "skipping",
        "starts",
        "stored",
        "testing",
        "tests",
        "up",
        "yielded",
    )

    def __init__(
        self,
        env: Env,
        up: list[Env],
        mask: int = ALL,
        tests: Tests = NO_TESTS,
        function: Function | None = None,
        cls: Class | None = None,
    ) -> None:
        self.env = env
        self.up = up
        self.mask = mask
        self.tests = tests
        self.function = function
        self.cls = cls
        self.in_class = False
        self.caught: frozenset[str] = frozenset()
        self.patched: tuple[str, ...] = ()
        """Names of torch's for which something stands in."""
        self.arm = 0
        self.gate: ast.expr | None = None
        """The condition, as it is written, that sent a Mac away."""
        self.inside: tuple[ast.expr, ...] = ()
        """The conditions around, as they are written."""
        self.errors: dict[str, int] = {}
        """Worlds that have ended in an error or an exit, by its kind; all of them are `refused`."""
        self.raised: tuple[str, int] = ("", 0)
        """The name of the error of the handler at hand, and the worlds that it is known to end."""
        self.refused = 0
        self.broken = 0
        """Worlds that have left the loop at hand by `break`."""
        self.built = NO_TESTS
        """Tests of what torch was built for that are asked around: worth a word, whoever comes."""
        self.asked = False
        """In an arm of a test for CUDA, be it one that nobody fails who comes to it."""
        self.casting = False
        """In an autocast that is on, or of which the function asks whether it is."""
        self.own = False
        """Something that no port has was met: a CUDA graph, NCCL."""
        self.joined = False
        """Something was called that may have joined a process group of NCCL."""
        self.more = False
        """Whether statements follow in this block."""
        self.returns: list[tuple[int, Value]] = []
        self.yielded: list[tuple[int, Value]] = []
        """What a generator gives, a turn at a time."""
        self.replaced: dict[str, Event] = {}
        """Names from which a choice of MPS was taken away, as was told."""
        self.declared: set[str] = set()
        self.stored: list[tuple[str | None, Value, int, Tests, int, str]] = []
        self.starts: list[int] = [0]
        """Where the log stood when the function, and each arm that is open, began."""
        self.forks: list[int] = []
        """Where it stood when these arms parted."""
        self.probing = False
        """In a short block below a handler for errors without CUDA."""
        self.probed = 0
        """The worlds in which its statement at hand raises such an error."""
        self.asks_probe = False
        """That is told nowhere else."""
        self.skipping = False
        """In a test that is skipped where torch raises for want of CUDA."""
        self.testing = False
        """A test: what it does where CUDA is there is a test of CUDA, and no port's choice."""


__all__ = ["Class", "Env", "Frame", "Function", "FunctionNode", "Place", "Symbol", "is_dataset"]
