"""The way in: what one file does in each world, for the rules."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from mpslint.semantics.names.needed_objects import needed_parameters
from mpslint.semantics.syntax.index import FUNCTIONS, Index
from mpslint.semantics.worlds.cuda_classes import is_for_cuda
from mpslint.semantics.worlds.events import Event, Kind
from mpslint.semantics.worlds.interpreter import Interpreter
from mpslint.semantics.worlds.machines import ALL, MAC, MACS, NVIDIA, PORTED
from mpslint.semantics.worlds.refused import refusal_before
from mpslint.semantics.worlds.relevance import Lines, matters
from mpslint.semantics.worlds.spelled import may_be_wide, may_call, may_move, may_name_gpu
from mpslint.semantics.worlds.state import Function, FunctionNode
from mpslint.semantics.worlds.trials import worlds_of_trial
from mpslint.semantics.worlds.twins import TOLD, unmatched
from mpslint.semantics.worlds.uncopied import raising_once_ported
from mpslint.semantics.worlds.values import CLASS, FUNCTION, NAME, Atom

_BY_CLASS = frozenset({"__init__", "__call__", "forward"})
"""Methods that are called by the name of their class, or of an object of it."""
_ON_A_GPU = frozenset({Kind.WIDE, Kind.MIXED, Kind.HANDED})
"""What needs a tensor on a GPU."""
_WIDE = frozenset({Kind.WIDE, Kind.SENT})
"""What needs a tensor of float64."""
_QUOTES = "\"'"

if TYPE_CHECKING:
    from mpslint.semantics.worlds.core import Project


class Worlds:
    """What a file does on each machine. Made when a rule first asks."""

    def __init__(
        self, index: Index, tree: ast.Module, text: bytes, project: Project | None
    ) -> None:
        self._index = index
        self._tree = tree
        self._text = text
        self._project = project
        self._entered: dict[Function, int] = {}
        """By function: the worlds in which somebody calls it."""
        self.is_asked = False
        """Whether somebody has asked already, be it that the text alone could answer."""
        self.met: list[tuple[Event, int]] = []
        """What the run told, with the worlds in which it was met."""

    def _made(self) -> Interpreter:
        callers = self._callers()
        attributes = frozenset(name for name in self._index.attributes if self.is_read(name))
        return Interpreter(
            self._tree,
            self._text,
            callers,
            attributes,
            self._project,
            self._index.parents,
            self._leading(callers),
            self._lines,
        )

    def _callers(self) -> dict[str, list[ast.AST]]:
        """By the name of a function or a class of the file: the functions that call such a name,
        or mention it."""
        index = self._index
        functions = {function.name for function in index.of(ast.FunctionDef)}
        others = {function.name for function in index.of(ast.AsyncFunctionDef)}
        others |= {cls.name for cls in index.of(ast.ClassDef)}
        found: dict[str, list[ast.AST]] = {}
        for name in functions | others:
            uses: list[ast.AST] = [*index.calls.get(name, ())]
            if name in functions:
                uses += index.names.get(name, ())
                uses += index.attributes.get(name, ())
            around = [f for use in uses for f in self._around(use)]
            if around:
                found[name] = list(dict.fromkeys(around))
        return found

    def _around(self, use: ast.AST) -> Iterator[ast.AST]:
        """The functions that something stands in, each in the next one."""
        function = self._index.function(use)
        while function is not None:
            yield function
            function = self._index.function(function)

    @cached_property
    def _lines(self) -> Lines:
        return Lines(self._text)

    def _leading(self, callers: dict[str, list[ast.AST]]) -> frozenset[ast.AST]:
        """The functions that call a function which can matter, or give it to others, themselves or
        by way of others: whoever leaves them out does not know where that runs."""
        found: set[ast.AST] = set()
        lines = self._lines.speaking()
        todo: list[ast.AST] = [
            node for kind in FUNCTIONS for node in self._index.of(kind) if matters(node, lines)
        ]
        while todo:
            node = todo.pop()
            assert isinstance(node, FUNCTIONS)
            names = [node.name]
            owner = self._index.parents.get(node)
            if isinstance(owner, ast.ClassDef) and node.name in _BY_CLASS:
                names.append(owner.name)
            for name in names:
                new = [user for user in callers.get(name, ()) if user not in found]
                found.update(new)
                todo += new
        return frozenset(found)

    @cached_property
    def run(self) -> Interpreter:
        """The file, run with all of its functions."""
        self.is_asked = True
        interpreter = self._made()
        # Code nested too deep for the stack is generated; what was told before stands.
        with contextlib.suppress(RecursionError):
            interpreter.run()
        self.met = [(event, event.worlds) for event in interpreter.log]
        return interpreter

    def _narrowed(self, events: list[Event]) -> list[Event]:
        """Takes away the worlds in which nobody calls a function, where only others do. These are
        looked at for functions in which something is asked about that is not CUDA's already."""
        for event in events:
            if not event.worlds & ~NVIDIA:
                continue
            if isinstance(event.function, Function):
                event.worlds &= self._used(event.function)
            elif self.run.is_below_main(event.node):
                event.worlds &= self._tried
            elif (owner := self._index.enclosing(event.node, ast.ClassDef)) is not None:
                event.worlds &= self.run.tested_on(owner)
        return events

    @cached_property
    def _tried(self) -> int:
        return worlds_of_trial(self._tree, self.run.main, self._project)

    def _used(self, function: Function) -> int:
        """The worlds in which somebody calls a function."""
        if function not in self._entered and self._is_for_cuda(function):
            self._entered[function] = NVIDIA
        if self._project is None:
            return self._entered.get(function, ALL)
        if function not in self._entered and self._lacks_objects(function.node):
            self._entered[function] = NVIDIA
        known = self._entered.get(function)
        if known is None:
            cls = function.cls
            used_here = cls.made if cls is not None else function.calls
            name = (cls or function).node.name
            self._entered[function] = ALL  # Functions that call each other are used somehow.
            if not used_here:
                known = self._project.entered(name) or ALL
            elif cls is None and not function.escaped and not function.handed:
                known = self._used_by(function.callers)
                if known != ALL and self._project.entered(name):
                    known = ALL  # Others use it as well.
            elif cls is not None and (makers := self._makers(cls.node)):
                known = self._used_by(makers)
                if known != ALL and self._project.entered(name):
                    known = ALL  # Others make objects of it as well.
            elif cls is not None and self._is_made_for_cuda(cls.node):
                known = ALL if self._project.entered(name) else NVIDIA
            else:
                known = ALL
            self._entered[function] = known
        return known

    def _is_for_cuda(self, function: Function) -> bool:
        cls = function.cls
        return cls is not None and is_for_cuda(cls, self.run.classes.values(), self.run.ends)

    def lacks_objects(self, place: ast.AST) -> bool:
        """Whether a function at or around a place must be given an object that no Mac has, or is
        run on one; its defaults are a part of it."""
        return self._project is not None and self._lacks_objects(place)

    def _lacks_objects(self, place: ast.AST) -> bool:
        node: ast.AST | None = place
        while node is not None:
            if isinstance(node, FUNCTIONS):
                owner = self._index.parents.get(node)
                is_method = isinstance(owner, ast.ClassDef)
                if any(map(self._has_none, needed_parameters(node, bound=is_method))):
                    return True
                if isinstance(owner, ast.ClassDef) and self._runs_on_none(node, owner):
                    return True
            node = self._index.parents.get(node)
        return False

    def _runs_on_none(self, method: FunctionNode, owner: ast.ClassDef) -> bool:
        cls = self.run.classes.get(owner)
        made = cls.methods.get("__init__") if cls is not None else None
        if made is None or made.node is method or method.decorator_list:
            return False
        if not any(True for _ in needed_parameters(made.node, bound=True)):
            return False
        known = self.run.frame.env.get(owner.name)
        is_known = known.__class__ is Atom and known.kind == CLASS and known.v is cls
        return is_known and self._is_none(owner.name)

    def _has_none(self, annotation: ast.expr) -> bool:
        """Whether no Mac has an object of the class that an annotation names."""
        key = Interpreter.key(annotation)
        if key is None:
            return False
        first, dot, rest = key.partition(".")
        value = self.run.frame.env.get(first)
        if value.__class__ is not Atom:
            return False
        if value.kind == CLASS and not dot and value.v.home is self.run:
            return self._is_none(first)
        return value.kind == NAME and self._is_none(f"{value.v}{dot}{rest}")

    def _is_none(self, qualified: str) -> bool:
        return self._project is not None and self._project.makes_none(qualified)

    def comes_back(self, node: ast.AST) -> int:
        """The worlds in which a call of a function of the file comes back."""
        function = self.run.functions.get(node)  # type: ignore[call-overload]
        return self.run.summary(function)[1] if function is not None else ALL

    def _makers(self, cls: ast.ClassDef) -> list[Function]:
        """The functions that make objects of a class, where the file does nothing else with it."""
        found: list[Function] = []
        for use in self._index.names.get(cls.name, ()):
            call = self._index.parents.get(use)
            if _asks_super(call):
                continue
            if not isinstance(call, ast.Call) or call.func is not use:
                return []
            around = self._index.function(use)
            function = self.run.functions.get(around) if around is not None else None
            if function is None:
                return []
            found.append(function)
        return found

    def _is_made_for_cuda(self, cls: ast.ClassDef) -> bool:
        """Whether objects of a class are made by the program below the test of `__name__` alone,
        which then calls a `main` that joins NCCL whatever it is asked for."""
        uses = self._index.names.get(cls.name, ())
        calls = [self._index.parents.get(use) for use in uses]
        return bool(uses) and all(
            isinstance(call, ast.Call)
            and call.func is use
            and self.run.is_below_main(call)
            and self._goes_on_to_cuda(call)
            for use, call in zip(uses, calls, strict=True)
        )

    def _goes_on_to_cuda(self, call: ast.Call) -> bool:
        """Whether the block of a call goes on to a function of the file that is CUDA's own."""
        statement = self._index.statement(call)
        block = self._index.block(statement)
        for later in block[block.index(statement) :]:
            value = getattr(later, "value", None)
            if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
                known = self.run.frame.env.get(value.func.id)
                if known.__class__ is Atom and known.kind == FUNCTION and known.v.own:
                    if not self.run.ends.get(known.v, MACS) & MACS:
                        return True
        return False

    def _used_by(self, callers: Collection[object]) -> int:
        """The worlds in which somebody calls one of these; all, where that is the file itself."""
        worlds = 0
        for caller in callers:
            if not isinstance(caller, Function):
                return ALL
            used = self._used(caller)
            if caller.own and not self.run.ends.get(caller, MACS) & MACS:
                used &= ~MACS  # What it does is CUDA's own, and so is what it does that with.
            worlds |= used
        return worlds or ALL

    def release(self) -> None:
        """Takes the analysis apart, whose parts know each other: a run over many files does not
        wait for the collector of cycles."""
        interpreter = self.__dict__.get("run")
        if interpreter is not None:
            interpreter.release()

    @cached_property
    def may_name_gpu(self) -> bool:
        """Whether anything of the file may be on a GPU, as far as its text says."""
        return may_name_gpu(self._index, self._text, self._project)

    @cached_property
    def may_be_wide(self) -> bool:
        """Whether anything of the file may have a dtype that MPS lacks, as far as its text says."""
        return may_be_wide(self._index, self._text, self._project)

    def writes(self, devices: Iterable[str]) -> bool:
        """Whether a text of the file begins with the name of one of these devices."""
        self.is_asked = True
        return any(
            (quote + device).encode() in self._text for device in devices for quote in _QUOTES
        )

    def _may_tell(self, kind: Kind) -> bool:
        """Whether the text of the file lets an event of this kind be."""
        if kind in _ON_A_GPU and not self.may_name_gpu:
            return False
        return kind not in _WIDE or self.may_be_wide

    @cached_property
    def by_kind(self) -> dict[Kind, list[Event]]:
        found: dict[Kind, list[Event]] = {}
        for event in self.run.log:
            found.setdefault(event.kind, []).append(event)
        return found

    def events(self, *kinds: Kind) -> list[Event]:
        """What the file does of these kinds, in the order in which it was met."""
        self.is_asked = True
        if not any(map(self._may_tell, kinds)):
            return []
        if len(kinds) == 1:
            return self._narrowed(self.by_kind.get(kinds[0], []))
        return self._narrowed([event for event in self.run.log if event.kind in kinds])

    @cached_property
    def reads(self) -> dict[ast.AST, list[Event]]:
        """What NumPy reads, by the call."""
        return self._by_node(Kind.READ)

    @cached_property
    def operands(self) -> dict[ast.AST, list[Event]]:
        """What calls compute with, and where they are told to put it, by the call."""
        found: dict[ast.AST, list[Event]] = {}
        for event in self.events(Kind.OPERATOR, Kind.PLACED):
            found.setdefault(event.node, []).append(event)
        return found

    @cached_property
    def loads(self) -> dict[ast.AST, list[Event]]:
        """What is loaded from files, by the call."""
        return self._by_node(Kind.LOADED)

    def _by_node(self, kind: Kind) -> dict[ast.AST, list[Event]]:
        found: dict[ast.AST, list[Event]] = {}
        for event in self.events(kind):
            found.setdefault(event.node, []).append(event)
        return found

    @cached_property
    def raising_once_ported(self) -> dict[ast.AST, ast.expr]:
        """Calls that give NumPy what only CUDA's arm copies to the CPU, with what asks for CUDA."""
        return raising_once_ported(self)

    def calls(self, names: Collection[str]) -> Iterator[Event]:
        """Calls of these functions of torch, under whatever name, in source order."""
        self.is_asked = True
        if not any(may_call(self._index, self._text, name) for name in names):
            return
        wanted = frozenset(names)
        called = self.by_kind.get(Kind.CALLED, ())
        found = self._narrowed([event for event in called if event.name in wanted])
        yield from sorted(found, key=_place)

    def raising(self, names: Collection[str]) -> Iterator[Event]:
        """Those of them that a Mac comes to, or would if the program did not refuse to run without
        CUDA, and whose exception nobody deals with."""
        for event in self.calls(names):
            if event.caught:
                continue
            if event.on_mac or (not event.asked and refusal_before(self, event) is not None):
                yield event

    def raising_before(self, event: Event) -> Event | None:
        """The first `.cuda()` that ends the program on every way that leads a Mac to an event."""
        for earlier in self.events(Kind.MOVED):
            if earlier.function is not event.function or _place(earlier) >= _place(event):
                continue
            if earlier.caught or earlier.moves_nothing:
                continue
            if not event.worlds & MAC & ~earlier.worlds:
                return earlier
        return None

    def reach(self, node: ast.AST) -> int:
        """The worlds in which control comes to a node. A statement from which all ways lead to what
        only CUDA has is CUDA's own as well."""
        worlds, run = self._reach(node), self.run
        if not worlds & MACS:
            return worlds
        around = self._index.function(node)
        if around is None:
            own, function = run.frame.own, None
        else:
            function = run.functions.get(around)
            if function is None:
                return worlds
            own = function.own
        if own and not run.ends.get(function, MACS) & MACS:
            return worlds & ~MACS
        return worlds & self._used(function) if function is not None else worlds

    def comes_to(self, node: ast.AST) -> int:
        """The worlds that get as far as a node, wherever it leads them."""
        self.is_asked = True
        return self._reach(node)

    def _reach(self, node: ast.AST) -> int:
        reach = self.run.reach
        current: ast.AST | None = node
        while current is not None:
            worlds = reach.get(current)
            if worlds is not None:
                return worlds
            parent = self._index.parents.get(current)
            if isinstance(current, FUNCTIONS):
                function = self.run.functions.get(current)
                if function is not None:
                    return reach.get(current.body[0], function.mask)
            elif isinstance(current, ast.stmt) and not isinstance(parent, ast.ClassDef):
                # Nobody came to the statement, though to what stands before it.
                owner = self._index.function(current)
                first = owner.body[0] if owner is not None else self._tree.body[0]
                function = self.run.functions.get(owner) if owner is not None else None
                if first in reach and (owner is None or (function and function.relevant)):
                    return 0
            current = parent
        return ALL

    def is_caught(self, node: ast.AST) -> bool:
        """Whether an exception that `node` raises is dealt with in the same function."""
        current: ast.AST | None = node
        while current is not None:
            if current in self.run.caught:
                return True
            if isinstance(current, FUNCTIONS):
                return False
            current = self._index.parents.get(current)
        return False

    def breaks(self, node: ast.AST, *, on_any_way: bool = False) -> bool:
        """Whether a Mac comes to `node`, and what it raises ends the program; `on_any_way`: be it
        on a way to what only CUDA has."""
        worlds = self._reach(node) if on_any_way else self.reach(node)
        return bool(worlds & MAC) and not self.is_caught(node)

    def on_mps(self, node: ast.AST) -> bool:
        """Whether a Mac comes to `node` today, and also once the choices before it ask for MPS:
        the device at hand may be MPS there."""
        worlds = self.reach(node)
        return bool(worlds & MAC and worlds & PORTED)

    @property
    def own_moves(self) -> dict[ast.Call, Function]:
        """Calls of a `cuda` method of the project's own: which."""
        return self.run.own_moves

    @property
    def names_torch(self) -> bool:
        return b"torch" in self._text

    def is_read(self, attribute: str) -> bool:
        """Whether the file looks at an attribute of this name."""
        uses = self._index.attributes.get(attribute, ())
        return any(isinstance(use.ctx, ast.Load) for use in uses)

    @property
    def moves_without_twin(self) -> list[Event]:
        """Those of `without_twin` that are moves by CUDA's own names."""
        if not may_move(self._index, self._text, self._project):
            return []
        return [event for event in self.without_twin if event.kind in (Kind.MOVED, Kind.TYPED)]

    @cached_property
    def without_twin(self) -> list[Event]:
        """What CUDA's device is told, and MPS's is not: waits, releases, seeds, moves, casts. The
        two are compared at the end of each function; "has a twin" is no pattern of an `if`."""
        self.is_asked = True
        if not self.may_name_gpu:
            return []
        self.events(*TOLD)
        return unmatched(self.run)


def _asks_super(call: ast.AST | None) -> bool:
    """`super(Net, self)`, which makes nothing."""
    return (
        isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "super"
    )


def _place(event: Event) -> tuple[int, int]:
    return event.node.lineno, event.node.col_offset  # type: ignore[attr-defined]
