"""One forward pass over a file, in all worlds at once.

A function is run for what it gives back when it is first called, and once more for what it does,
with the arguments of all its callers joined, after these have been run.
"""

from __future__ import annotations

import ast
import bisect
import re
from collections.abc import Container, Iterable

from mpslint.semantics.index import FUNCTIONS
from mpslint.semantics.worlds.core import MAX_DEPTH, MAX_STEPS, Project
from mpslint.semantics.worlds.machines import (
    ALL,
    CUDA,
    MACS,
)
from mpslint.semantics.worlds.methods import Methods
from mpslint.semantics.worlds.project import foreign, foreign_worlds
from mpslint.semantics.worlds.state import Env, Frame, Function
from mpslint.semantics.worlds.values import (
    ARRAY,
    CONST,
    DEVICE,
    DTYPE,
    INSTANCE,
    MODULE,
    NO_TESTS,
    NONE,
    TENSOR,
    UNK,
    UNKNOWN,
    Atom,
    Tests,
    Value,
    cases_of,
    join,
    lift,
    one,
    pack,
    port,
)

# A function without any of these words can neither do anything here nor tell the worlds apart.
_WORDS = tuple(
    word.encode()
    for word in [
        ".to(",
        "device",
        "mps",
        "cuda",
        "gpu",
        "nccl",
        "load(",
        "numpy",
        "double",
        "float64",
        "autocast",
        "scaler",
        "accelerat",
        "pin_memory",
        "complex128",
        "args.",
        "args,",
        "args)",
        "(args",
        "synchronize",
        "empty_cache",
        "is_available",
        "torch.",
        "requires",
        "exit(",
        "seed",
        "skip",
    ]
)
_GLOBAL = re.compile(rb"^[ \t]+global[ \t]+([\w, \t]+)", re.M)
_TOLD_APART = frozenset({CONST, DEVICE, TENSOR, MODULE, ARRAY, DTYPE})
MAX_CONTEXTS = 4
"""So many different constant arguments of one function are told apart."""
_ENTRIES = frozenset({"forward", "__call__", "setUp"})
"""Methods that are called from outside, whoever calls them inside."""


class Interpreter(Methods):
    def __init__(
        self,
        tree: ast.Module,
        text: bytes,
        callers: dict[str, list[ast.AST]],
        read_attributes: frozenset[str] = frozenset(),
        project: Project | None = None,
        nodes: Container[object] = (),
    ) -> None:
        """`callers`: by the last name of what is called, the functions around the calls;
        `read_attributes`: the attributes that the file reads."""
        self.read_attributes = read_attributes
        self.nodes = nodes
        """The nodes of this file, as opposed to those of others."""
        self.tree = tree
        self._text = text
        self._callers = callers
        self.project = project
        self.frame = Frame({}, [])
        self.log = []
        self.recording = False
        self.calling = self.asking = False
        self.global_reads = set()
        self.depth = self.steps = 0
        self.reach = {}
        self.caught = set()
        self.slots = {}
        self.device_tests = set()
        self.mps_tests = set()
        self.own_tests = set()
        self.asking_mps = set()
        self.seen = set()
        self.cuda_tests = set()
        self.functions = {}
        self.classes = {}
        self.fixtures = {}
        self.outer_of_class = []
        self.dotted = set()
        self.saves = []
        self.default_device = None
        self.ends: dict[Function | None, int] = {}
        """The worlds that come to the end of a function, or of the file."""
        self._lines: list[int] | None = None
        self._settled = False
        own = frozenset(item.name for item in tree.body if isinstance(item, FUNCTIONS))
        self.is_script = any(_runs(statement, own) for statement in tree.body)
        """Whether the file does its work when it is run: nobody imports it for a name."""
        names = b"global" in text and _GLOBAL.findall(text)
        self.rebound = frozenset(
            name.strip().decode(errors="replace")
            for found in names or ()
            for name in found.split(b",")
        )
        methods = {name: getattr(self, name) for name in dir(self) if name[:2] in ("e_", "s_")}
        self.expressions = {
            getattr(ast, name[2:]): method
            for name, method in methods.items()
            if name[:2] == "e_" and hasattr(ast, name[2:])
        }
        self.statements = {
            getattr(ast, name[2:]): method
            for name, method in methods.items()
            if name[:2] == "s_" and hasattr(ast, name[2:])
        }

    # the file

    def release(self) -> None:
        """Lets go of what knows each other: functions of their file, classes of their methods."""
        for function in self.functions.values():
            function.home = function.cls = None
            function.up = []
            function.summaries.clear()
            function.calls.clear()
        for cls in self.classes.values():
            cls.methods.clear()
            cls.sites.clear()
            cls.cache.clear()
        self.functions.clear()
        self.classes.clear()
        self.frame = Frame({}, [])
        self.expressions.clear()
        self.statements.clear()

    def settle(self) -> Env:
        """What the names of the module are; without telling of anything. Other files ask this."""
        if not self._settled:
            self._settled = True
            self.block(self.tree.body)
        return self.frame.env

    def run(self) -> None:
        """Runs the file and all of its functions, and tells what they do."""
        self._settled = True
        self.recording = True
        self.block(self.tree.body)
        frame = self.frame
        end, tests = frame.mask, frame.tests
        self._keep()
        self.ends[None] = end
        self.recording = False
        self._run_constructors()
        self.recording = True
        done: set[Function] = set()
        while True:  # Running a function may find more of them.
            todo = [function for function in self.functions.values() if function not in done]
            if not todo or self.steps > MAX_STEPS:
                break
            for function in todo:
                self._visit(function, done, end, tests)
        for key, value in frame.env.items():
            if "." not in key and key not in self.global_reads:
                self.kept(value, key, use=self.tree)

    def _run_constructors(self) -> None:
        """What `__init__` leaves on `self`, before other methods look at it."""
        for function in list(self.functions.values()):
            if function.cls is not None and function.node.name == "__init__":
                self.summary(function)

    def _visit(self, function: Function, done: set[Function], end: int, tests: Tests) -> None:
        """Runs a function after those that call it."""
        stack: list[tuple[Function, bool]] = [(function, False)]
        while stack:
            current, ready = stack.pop()
            if ready:
                self._body(current, end, tests)
                continue
            if current in done:
                continue
            done.add(current)
            stack.append((current, True))
            for caller in self._callers_of(current):
                if caller not in done:
                    stack.append((caller, False))

    def _callers_of(self, function: Function) -> Iterable[Function]:
        names = [function.node.name]
        if function.cls is not None and function.node.name in ("__init__", "__call__", "forward"):
            names.append(function.cls.node.name)
        for name in names:
            for node in self._callers.get(name, ()):
                caller = self.functions.get(node)  # type: ignore[call-overload]
                if caller is not None and caller is not function:
                    yield caller

    def is_relevant(self, node: ast.AST) -> bool:
        if self._lines is None:
            self._lines = _lines_with_words(self._text)
        at = bisect.bisect_left(self._lines, node.lineno)  # type: ignore[attr-defined]
        return at < len(self._lines) and self._lines[at] <= node.end_lineno  # type: ignore[attr-defined]

    # functions

    def _enter(
        self, function: Function, mask: int, tests: Tests, given: Env, *, recording: bool
    ) -> tuple[Value, int]:
        """Runs a function's body: the value returned, the worlds that come back."""
        outer, was, mark = self.frame, self.recording, len(self.log)
        frame = self.frame = Frame(dict(given), function.up, mask, tests, function, function.cls)
        frame.starts = [mark]
        frame.testing = _is_test(function)
        self.recording = recording
        self.depth += 1
        function.running = True
        try:
            self.block(function.node.body)
            ends = frame.mask
            for worlds, _ in frame.returns:
                ends |= worlds
            if recording:
                self._keep()
                self.ends[function] = ends
            function.own = function.own or frame.own
            function.end_tests |= frame.tests - tests
            value = self._returned(frame)
            if recording and not function.calls:
                # What somebody here calls is told of where it is used.
                frame.mask = mask & ends
                self.kept(value, function.node.name)
            return value, ends
        finally:
            function.running = False
            self.depth -= 1
            self.frame, self.recording = outer, was

    @staticmethod
    def _returned(frame: Frame) -> Value:
        if not frame.returns:
            return NONE
        returns = list(frame.returns)
        if frame.mask:
            returns.append((frame.mask, NONE))
        cases: list[tuple[int, Atom]] = []
        for worlds, value in returns:
            new = list(cases_of(value, worlds))
            merged: list[tuple[int, Atom]] = []
            for mask, atom in cases:
                rest = mask
                for at, other in new:
                    if mask & at:
                        merged.append((mask & at, join(atom, other)))
                        rest &= ~at
                merged.append((rest, atom))
            seen = 0
            for mask, _ in cases:
                seen |= mask
            merged += [(mask & ~seen, atom) for mask, atom in new]
            cases = [(mask, atom) for mask, atom in merged if mask]
        return port(pack(cases))

    def summary(self, function: Function, given: Env | None = None) -> tuple[Value, int]:
        """What a call gives, and the worlds that come back from it."""
        home: Interpreter | None = function.home
        if home is None:
            return UNK, ALL  # Its file has been let go of.
        if home is not self:
            theirs = {name: foreign(value, ()) for name, value in (given or {}).items()}
            value, ends = home.summary(function, theirs)
            return foreign(value, self.nodes), foreign_worlds(ends)
        known = self._told_apart(function, given) if given else ()
        found_already = function.summaries.get(known)
        if found_already is not None:
            return found_already
        if known and len(function.summaries) >= MAX_CONTEXTS:
            known = ()
            if known in function.summaries:
                return function.summaries[known]
        if (
            function.running
            or self.depth >= MAX_DEPTH
            or not function.relevant
            or self.steps > MAX_STEPS
        ):
            return UNK, ALL
        arguments = self._parameters(function, ())
        if known and given is not None:
            arguments.update({name: given[name] for name, _ in known})
        result = self._enter(function, ALL, NO_TESTS, arguments, recording=False)
        function.summaries[known] = result
        return result

    @staticmethod
    def _told_apart(function: Function, given: Env) -> tuple[tuple[str, object], ...]:
        """Arguments that are constants or devices: their callers get an answer of their own."""
        found = []
        for name, value in given.items():
            cases = tuple(cases_of(value))
            if any(atom.kind in _TOLD_APART for _, atom in cases):
                key = tuple((worlds, atom.kind, repr(atom.v), atom.maybe) for worlds, atom in cases)
                found.append((name, key))
        return tuple(sorted(found, key=lambda item: item[0]))

    def _body(self, function: Function, end: int, end_tests: Tests) -> None:
        """The run that tells what a function does."""
        if self.steps > MAX_STEPS:
            return
        mask, tests = function.mask & end, function.tests
        if mask != function.mask:
            tests |= end_tests
        cls = function.cls
        name = function.node.name
        if cls is not None and cls.made and not function.escaped:
            mask, tests = _narrowed(mask, tests, cls.made.values())
        outside = (
            function.escaped or (cls is not None and name.startswith("__")) or name in _ENTRIES
        )
        sites = list(function.calls.values())
        if sites and not outside:
            mask, tests = _narrowed(mask, tests, ((m, t) for m, t, _ in sites))
        public = not any(part.startswith("_") for part in (name, cls.node.name if cls else ""))
        if cls is not None and name == "cuda":  # runs only where somebody asked for CUDA
            mask &= CUDA
        if cls is not None:
            prepared = ("setUp", "setUpClass", "setup_method") if name.startswith("test") else ()
            for first in ("__init__", *prepared):
                before = cls.methods.get(first)
                if before is not None and before is not function and not function.static:
                    left = mask & self.summary(before)[1]
                    if left & MACS != mask & MACS:
                        tests |= before.end_tests
                    mask = left
        given = self._parameters(function, () if function.escaped else sites)
        if public and sites and not self.is_script:
            for parameter, value in self._parameters(function, ()).items():
                if one(value, ALL).kind == DEVICE:  # Others may call it without.
                    given[parameter] = lift(join, given[parameter], value)
        for parameter in [key for key in given if key in self.fixtures]:
            value, ends = self.summary(self.fixtures[parameter])  # pytest runs the fixture first
            mask &= ends
            given[parameter] = value
        first = function.node.body[0]
        self.reach[first] = self.reach.get(first, 0) | mask
        if not mask:
            return
        if not function.relevant:
            return
        self._enter(function, mask, tests, given, recording=True)

    def _parameters(self, function: Function, sites: Iterable[tuple[int, Tests, Env]]) -> Env:
        """What parameters stand for: the callers' arguments joined, the default where one leaves
        it out or nobody is seen to call."""
        arguments = function.node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        defaults: dict[str, ast.expr] = {
            item.arg: default
            for item, default in zip(
                positional[len(positional) - len(arguments.defaults) :],
                arguments.defaults,
                strict=True,
            )
        }
        defaults.update(
            (item.arg, default)
            for item, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
            if default is not None
        )
        sites = list(sites)
        given: Env = {}
        for item in [*positional, *arguments.kwonlyargs]:
            name = item.arg
            default = defaults.get(name)
            value: Value = Atom(UNKNOWN, symbol=(function, name))
            if default is not None:
                value = self._default(function, default, name)
            if sites:
                joined: Value | None = None
                for _, _, bound in sites:
                    here = bound.get(name, value)
                    joined = here if joined is None else lift(join, joined, here)
                value = joined if joined is not None else value
            given[name] = value
        if function.cls is not None and positional and not function.static:
            given[positional[0].arg] = Atom(INSTANCE, function.cls)
        return given

    def _default(self, function: Function, default: ast.expr, name: str) -> Value:
        unknown = Atom(UNKNOWN, symbol=(function, name))
        if isinstance(default, ast.Constant):
            atom = one(self.e_Constant(default), ALL)
            if atom.kind == DEVICE:
                return atom.but(maybe=True)
            if atom.v is None or isinstance(atom.v, bool) or atom.kind != CONST:
                return unknown
            return atom.but(maybe=True)
        outer, was = self.frame, self.recording
        self.frame, self.recording = Frame({}, function.up), False
        value = self.eval(default)
        self.frame, self.recording = outer, was
        return lift(
            lambda atom: (
                atom.but(maybe=True)
                if atom.kind == DEVICE
                else (atom if atom.tests else unknown if atom.kind in (CONST, UNKNOWN) else atom)
            ),
            value,
        )

    # what is left on objects

    def _keep(self) -> None:
        """What a function, or the file, has left on objects when it ends; unless a Mac has mps
        there by then."""
        frame = self.frame
        saved = frame.mask, frame.tests, frame.arm
        told: set[str] = set()
        for key, value, mask, tests, arm, attribute in frame.stored:
            if saved[0] and key is not None:
                # As it is in the end, in the worlds that get there.
                if key not in told:
                    told.add(key)
                    self.kept(frame.env.get(key, UNK), attribute, attribute=True)
                continue
            frame.mask, frame.tests, frame.arm = mask, tests, arm
            self.kept(value, attribute, attribute=True)
        frame.mask, frame.tests, frame.arm = saved


def _runs(statement: ast.stmt, own: frozenset[str]) -> bool:
    """`if __name__ == "__main__":`, or a call of a function of its `own` at the top."""
    if isinstance(statement, ast.If):
        test = statement.test
        return (
            isinstance(test, ast.Compare)
            and isinstance(test.left, ast.Name)
            and test.left.id == "__name__"
        )
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and isinstance(statement.value.func, ast.Name)
        and statement.value.func.id in own
    )


def _is_test(function: Function) -> bool:
    cls = function.cls
    if cls is not None and any(base.endswith("TestCase") for base in cls.bases):
        return True
    return function.node.name.startswith("test_")


def _narrowed(mask: int, tests: Tests, sites: Iterable[tuple[int, Tests]]) -> tuple[int, Tests]:
    """The worlds in which something is called at all, of those that it could run in."""
    reached, why = 0, NO_TESTS
    for worlds, causes in sites:
        reached |= worlds
        why |= causes
    if reached & mask != mask:
        return mask & reached, tests | why
    return mask, tests


def _lines_with_words(text: bytes) -> list[int]:
    starts = [0]
    position = text.find(b"\n") + 1
    while position > 0:
        starts.append(position)
        position = text.find(b"\n", position) + 1
    lower, size = text.lower(), len(text)
    lines: set[int] = set()
    for word in _WORDS:
        position = lower.find(word)
        while position >= 0:
            line = bisect.bisect_right(starts, position)
            lines.add(line)
            position = lower.find(word, starts[line] if line < len(starts) else size)
    return sorted(lines)
