"""What all parts of the interpreter share: its state, what names stand for, and its log."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable
from typing import TYPE_CHECKING, Protocol

from mpslint.semantics.worlds.asked_choices import Asked
from mpslint.semantics.worlds.errors import ANY_ERROR, is_dealt_with
from mpslint.semantics.worlds.events import RAISING, Event, Kind
from mpslint.semantics.worlds.machines import ALL, MACS, NVIDIA
from mpslint.semantics.worlds.stand_ins import lacking
from mpslint.semantics.worlds.state import Class, Env, Frame, Function, Place
from mpslint.semantics.worlds.values import UNK, Cases, Symbol, Tests, Value

if TYPE_CHECKING:
    from mpslint.facts.machines import Answer
    from mpslint.semantics.syntax.fitting import Signature
    from mpslint.semantics.worlds.handed import Handed
    from mpslint.semantics.worlds.interpreter import Interpreter
    from mpslint.semantics.worlds.said import Said

MAX_DEPTH = 8
"""Calls are followed so deep: beyond, a summary of summaries adds nothing on 70 repositories."""

MAX_STEPS = 60_000
"""Statements that are run for one file, so that generated code of any length ends."""


class Project(Protocol):
    """The rest of the project, as far as a file asks for it."""

    path: str
    """Where the file is that asks."""

    def value(self, qualified: str) -> Value | None:
        """What an imported name holds; None where it is not the project's or cannot be read."""

    def moving(self, qualified: str) -> Value | None:
        """The same of what may move what it is given, to wherever it is told."""

    def may_hold(self, qualified: str) -> bool:
        """Whether a name, or something in the module of that name, may be the project's and speak
        of machines; said by the text alone."""

    def may_end(self, qualified: str) -> bool:
        """Whether a name, or the module of that name, is the project's and may end on a Mac what
        calls it, since it may start processes of NCCL or need operators of CUDA's; said by texts
        alone."""

    def joins_group(self, qualified: str, said: Said) -> bool:
        """Whether a call of an imported function joins a process group of NCCL on each way, be it
        some files away."""

    def keeps_object(self, qualified: str) -> bool:
        """Whether a name is that of an object which a module of the project keeps."""

    def keeps(self, qualified: str) -> bool:
        """Whether a name is that of an object which a module of the project keeps, or a class or
        an object of it has as an attribute."""

    def base(self, qualified: str, *, empty: bool = False) -> Class | None:
        """An imported class; or one whose objects may, by its text, be `empty` of what is moved."""

    def signature(self, qualified: str, *, certain: bool = False) -> Signature | None:
        """What a function or class of the project can be given, as it seems; or, of one of the
        file's own as well, where it is `certain` that the name stands for nothing else."""

    def imports_on(self, module: str) -> int:
        """The worlds in which a module of the project can be imported, or in which there is an
        operator (`torch.ops.<library>.<operator>`) that the project registers."""

    def entered(self, name: str) -> int:
        """The worlds in which other files use a function of this one; none, where no file beside
        it does."""

    def takes(self, name: str) -> bool:
        """Whether another file may have the variable `name` of this one."""

    def answer_kept(self, attribute: str) -> Answer | None:
        """What torch says of CUDA, where that is all that the project stores under an attribute of
        this name; None: it is not."""

    def shared_by_tests(self) -> list[Interpreter]:
        """What pytest reads before this file, as it is run: the nearest `conftest.py` first."""

    def makes_none(self, qualified: str) -> bool:
        """Whether no Mac has an object of a class of the project."""

    def given(self, name: str, kept: frozenset[str], is_asked: bool) -> list[Handed] | None:
        """How the other files of the project call the function or class `name` of this one; None
        where somebody may do so who is not seen, or sets one of the attributes that keep what is
        given (`kept`) himself."""

    def calls(self, name: str) -> tuple[ast.Call | None, ...]:
        """The calls of the function, class or method (`Net.run`) `name` of this file by other files
        of the project, as they are written; None for a use that may lead to any."""


class Core:
    """State and log; the mixins add the transfer of statements, expressions and calls."""

    project: Project | None
    nodes: Container[object]
    """The nodes of this file, as opposed to those of others."""
    frame: Frame
    log: list[Event]
    recording: bool
    main: ast.stmt | None
    """`if __name__ == "__main__":`"""
    leading: Container[ast.AST]
    """The functions that lead to others which can matter."""
    noted: list[tuple[Kind, int]]
    """What raises on a Mac in runs that tell of nothing else: who calls wants to know."""
    default_dtype: str | None
    """What `torch.set_default_dtype` has made of the floats of which nobody says more."""
    depth: int
    steps: int
    reach: dict[ast.AST, int]
    """The worlds that come to statements, and to parts of expressions that few come to."""
    caught: set[ast.stmt]
    """Statements whose exceptions are dealt with in the same function."""
    slots: dict[Symbol, int]
    bound_once: dict[ast.AST, dict[str, ast.expr]]
    """By function, what its names are given where that is one thing, kept as it is asked for."""
    held: set[str]
    """Names of attributes that an environment holds (`device`, for `self.device`): no other
    attribute needs to be looked for there."""
    dotted: set[str]
    """Names of objects of which an environment holds attributes."""
    seen: set[ast.expr]
    """Devices written out that are compared or looked at, where that is seen."""
    placed: set[ast.expr]
    """Those of them that something is placed with."""
    chosen: set[ast.expr]
    """Functions that are chosen in a conditional, by what they do to the device: told there, and
    not where they are called."""
    tree: ast.Module
    names_gloo: bool
    """Whether the text speaks of the backend for processes without GPUs."""
    own_tests: set[ast.expr]
    """Tests for what no port has: NCCL."""
    asking_mps: set[tuple[object, int]]
    """The functions and conditionals that ask for MPS: somebody has decided there."""
    compared_with_mps: dict[tuple[object, str], list[ast.expr]]
    """What functions compare with MPS, as it is written: each device has an arm of its own."""
    written_choices: dict[ast.expr, tuple[ast.If | ast.IfExp, bool]] | None
    """The choices of the file by their tests, and whether they ask for the opposite; None: nobody
    has asked for them yet."""
    told_only: dict[ast.expr, bool]
    """Whether all arms of a test only say something."""
    decided: set[ast.expr]
    """Tests beside which MPS was asked for and turned away."""
    mps_tests: set[ast.expr]
    """Tests that are true on a Mac alone."""
    build_tests: set[ast.expr]
    """Tests that only ask what torch was built for, or has heard of."""
    toolkit_tests: set[ast.expr]
    """Tests for the version of CUDA that torch is built with, which no port has."""
    device_tests: set[ast.expr]
    kept_answers: set[ast.expr]
    """What reads an answer that another file has asked for, and that is told there."""
    cuda_tests: set[ast.expr]
    refusing: dict[ast.expr, Place]
    """Calls of functions of other files that refuse to run without CUDA: where these refuse."""
    empty_moves: set[ast.AST]
    """Calls of `to` on modules that hold nothing to move, whatever device is written out there."""
    own_moves: dict[ast.Call, Function]
    """Calls of a `cuda` method of the project's own: which."""
    read_attributes: frozenset[str]
    is_script: bool
    """Whether the file does its work when it is run: nobody imports it for a name."""
    starts_groups: bool
    """Whether the text speaks of starting process groups."""
    ranked: set[Symbol]
    rank_starts: bool
    """Whether some test of a number starts a process group."""
    """Tests of numbers under which process groups are started."""
    handed: dict[ast.Call, tuple[int, list[Value], Env]]
    """What calls of imported names give: the worlds, the arguments."""
    starred: list[str]
    """Modules of which all names are imported: what the file does not bind may be theirs."""
    process_numbers: dict[ast.AST, frozenset[str]]
    """By function, or module, the names that hold the number of a process alone."""
    each: dict[ast.AST, Value]
    """What each element of a comprehension is, or what a call spreads, until it is asked for."""
    wide_parts: dict[ast.AST, str]
    """Expressions that modules are given as parameters or buffers, by the dtype that MPS lacks."""
    calling: bool
    setting: dict[str, int]
    """Names of the module of which it is being found out where functions set them: the worlds."""
    unsure: int
    """In so many parts of expressions that few come to, or later."""
    asking: Asked
    """In a test that asks for a device and for the machine."""
    by_name: set[ast.expr]
    """The tests of choices that ask for CUDA by name, and for the machine."""
    flagged: dict[str, list[ast.If | ast.IfExp]] | None
    """The choices of the file by the names that decide them, once somebody asks."""

    # what the mixins give each other

    def eval(self, node: ast.expr) -> Value:
        raise NotImplementedError

    def cond(self, node: ast.expr) -> tuple[int, int, Tests]:
        raise NotImplementedError

    def bind(self, target: ast.expr, value: Value) -> None:
        raise NotImplementedError

    def count_of(self, text: str) -> int:
        """How often a text stands in the file."""
        raise NotImplementedError

    def block(self, body: list[ast.stmt]) -> None:
        raise NotImplementedError

    def summary(self, function: Function, given: Env | None = None) -> tuple[Value, int]:
        raise NotImplementedError

    def raising_in(self, function: Function, given: Env) -> dict[Kind, int]:
        raise NotImplementedError

    def is_relevant(self, node: ast.AST) -> bool:
        raise NotImplementedError

    def note_probe(self, kind: Kind, worlds: int, name: str, value: Value) -> None:
        raise NotImplementedError

    def is_skipped(self, kind: Kind, worlds: int, name: str, value: Value) -> bool:
        """Whether something that is done in a test makes a skip of it on all Macs that come
        there."""
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
        text = ""
        while node.__class__ is ast.Attribute:
            text = f".{node.attr}{text}"
            node = node.value
        return f"{node.id}{text}" if node.__class__ is ast.Name else None

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
        frame = self.frame
        here = frame.mask if worlds is None else worlds
        if frame.probing:
            self.note_probe(kind, here, name, value)
        if frame.skipping and not frame.caught and self.is_skipped(kind, here, name, value):
            self.owned(NVIDIA)
            return
        if not self.recording:
            if (kind in RAISING or self._moves_by_name(kind)) and not frame.caught:
                self.noted.append((kind, here))
            return
        self.log.append(
            Event(
                kind,
                node,
                here,
                (frame.tests if tests is None else tests) | frame.built,
                name,
                value,
                use,
                is_dealt_with(frame.caught, kind, name),
                frame.function,
                frame.arm,
                False,
                frame.gate,
                frame.refused,
                likely,
                frame.asked,
            )
        )

    def _moves_by_name(self, kind: Kind) -> bool:
        """Whether it is a move in a class's own `cuda`, for which its callers have asked."""
        function = self.frame.function
        return kind is Kind.MOVED and function is not None and function.moves_to_cuda

    def mark(self, node: ast.AST) -> None:
        """Notes the worlds that come to a part of an expression."""
        if self.recording:
            self.reach[node] = self.reach.get(node, 0) | self.frame.mask

    def forget(
        self,
        mark: int,
        kinds: Iterable[Kind] | None = None,
        end: int | None = None,
        *,
        caught: bool = False,
    ) -> None:
        """Drops what was told since `mark`, up to `end`: it stands where, as it turned out, no Mac
        ever is. Of these `kinds` alone, or what is `caught` alone, where that is said."""
        gone = None if kinds is None else frozenset(kinds)
        self.log[mark:end] = [
            event
            for event in self.log[mark:end]
            if (gone is not None and event.kind not in gone) or (caught and not event.caught)
        ]

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

    def used(self, value: Value) -> None:
        """Something is called, or asked for what it has: for the worlds with a mere stand-in of a
        package that only CUDA has, this is the end."""
        if value.__class__ is Cases and not self.unsure:
            worlds = lacking(value, self.frame.mask)
            if worlds:
                self.owned(ALL & ~worlds)

    def refuse(self, worlds: int, error: str = ANY_ERROR) -> None:
        """These worlds end here in an error of this kind, or in an exit."""
        frame = self.frame
        worlds &= frame.mask
        frame.mask &= ~worlds
        frame.refused |= worlds
        frame.errors[error] = frame.errors.get(error, 0) | worlds

    def is_below_main(self, node: ast.AST) -> bool:
        main = self.main
        return main is not None and main.lineno < node.lineno <= (main.end_lineno or 0)  # type: ignore[attr-defined]

    def end_in_misfit(self, error: str = "TypeError") -> Value:
        """All worlds end here: a call does not fit what it calls, or a name stands for nothing."""
        frame = self.frame
        self.refuse(frame.mask, error)
        if frame.function is not None:
            frame.function.misfits = True
        return UNK

    def leave(self) -> None:
        """Control leaves the function here: what led here runs on a Mac, whatever comes later."""
        if not self.recording or not self.frame.mask & MACS:
            return
        starts, forks = self.frame.starts, [*self.frame.forks, len(self.log)]
        for start, end in zip(starts, forks, strict=True):
            for event in self.log[start:end]:
                event.passed = True
