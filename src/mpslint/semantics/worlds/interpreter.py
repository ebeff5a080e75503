"""One forward pass over a file, in all worlds at once.

A function is run for what it gives back when it is first called, and once more for what it does,
with the arguments of all its callers joined, after these have been run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterable, Iterator
from functools import cache, cached_property, reduce
from operator import or_

from mpslint.facts.priors import package_worlds
from mpslint.semantics.syntax.expressions import is_main_block, taken_by
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.worlds.asked_choices import Asked
from mpslint.semantics.worlds.collected import Collected
from mpslint.semantics.worlds.core import MAX_STEPS, Project
from mpslint.semantics.worlds.handed import (
    ANY_CALL,
    OWN_WORD,
    Site,
    deciding,
    is_one_constant,
    kept_parameters,
    method_for_others,
    name_for_others,
    written_out,
)
from mpslint.semantics.worlds.joining import join, parted
from mpslint.semantics.worlds.machines import ALL, CUDA, MACS
from mpslint.semantics.worlds.methods import Methods
from mpslint.semantics.worlds.ranked_tests import STARTS, starts_by_rank
from mpslint.semantics.worlds.rebinding import Rebinding
from mpslint.semantics.worlds.relevance import OWN_MOVE, Lines, matters
from mpslint.semantics.worlds.runners import AROUND_EACH, PREPARING, runs_with_defaults
from mpslint.semantics.worlds.state import Class, Env, Frame, Function
from mpslint.semantics.worlds.telling_names import classes_that_move, names_of_torch
from mpslint.semantics.worlds.values import (
    DEVICE,
    NO_TESTS,
    Tests,
    Value,
    cases_of,
    lift,
    one,
    places,
)
from mpslint.semantics.worlds.wrapping import ATTRIBUTE

# Fact: Python's grammar, the statement `global`.
_GLOBAL = re.compile(rb"^[ \t]+global[ \t]+([\w, \t]+)", re.M)

# Fact: Python's grammar, imports that are no statements of the module itself.
_LOCAL_IMPORT = re.compile(
    rb"^[ \t]+(?:from|import)[ \t]+([.\w]+)(?:[ \t]+import[ \t]+(\w+))?", re.M
)

_ENTRIES = frozenset({"forward", "__call__", "setUp"})
"""Methods that are called from outside, whoever calls them inside."""

_WORKS = (ast.For, ast.While, ast.With)
"""What a module does not do that only defines."""


class Interpreter(Collected, Rebinding, Methods):
    def __init__(
        self,
        tree: ast.Module,
        text: bytes,
        callers: dict[str, list[ast.AST]],
        read_attributes: frozenset[str] = frozenset(),
        project: Project | None = None,
        nodes: Container[object] = (),
        leading: Container[ast.AST] = (),
        lines: Lines | None = None,
    ) -> None:
        """`callers`: by the last name of what is called, the functions around the calls;
        `read_attributes`: the attributes that the file reads; `leading`: the functions that lead
        to others which can matter; `lines`: those of the text, where somebody has them."""
        self.leading = leading
        self.read_attributes = read_attributes
        self.nodes = nodes
        self.tree = tree
        self._text = text
        self._callers = callers
        self.project = project
        self.frame = Frame({}, [])
        self.log = []
        self.noted = []
        self.recording = False
        self.calling = False
        self.asking, self.by_name, self.flagged = Asked.NOTHING, set(), None
        self.global_reads = set()
        self.depth = self.steps = self.unsure = 0
        self.setting = {}
        self._rebound = {}
        self._declaring = self._edited = self._edited_attributes = None
        self.reach = {}
        self.caught = set()
        self.handed = {}
        self.ranked = set()
        self.starts_groups = STARTS.encode() in text
        self.rank_starts = self.starts_groups and starts_by_rank(tree)
        self.starred = []
        self.each = {}
        self.wide_parts = {}
        self.process_numbers = {}
        self.slots = {}
        self.device_tests, self.cuda_tests, self.kept_answers = set(), set(), set()
        self.refusing, self.toolkit_tests = {}, set()
        self.own_moves, self.empty_moves = {}, set()
        self.mps_tests, self.decided = set(), set()
        self.own_tests, self.names_gloo = set(), b"gloo" in text
        self.chosen = set()
        self.build_tests = set()
        self.asking_mps = set()
        self.compared_with_mps, self.told_only = {}, {}
        self.written_choices, self.read_names = None, {}
        self.seen, self.placed = set(), set()
        self.functions = {}
        self.classes = {}
        self.fixtures = {}
        self.automatic = []
        self.outer_of_class = []
        self.dotted = set()
        self.held = set()
        self.bound_once = {}
        self.saves = []
        self.default_device = None
        self.default_dtype = None
        self.ends = {}
        self._ended: tuple[int, ast.expr | None] = 0, None
        """The worlds that end with the module in an error, and the condition that says so."""
        self._text_lines = lines
        self._lines: list[int] | None = None
        self._settled = False
        own = frozenset(item.name for item in tree.body if isinstance(item, FUNCTIONS))
        self.is_script = any(_runs(statement, own) for statement in tree.body)
        self.main = next((item for item in tree.body if is_main_block(item)), None)
        names = b"global" in text and _GLOBAL.findall(text)
        self.rebound = frozenset(
            name.strip().decode(errors="replace")
            for found in names or ()
            for name in found.split(b",")
        )
        self.expressions = {kind: getattr(self, name) for kind, name in _transfers("e_")}
        self.statements = {kind: getattr(self, name) for kind, name in _transfers("s_")}

    def count_of(self, text: str) -> int:
        return self._text.count(text.encode())

    def is_relevant(self, node: ast.AST) -> bool:
        if self._lines is None:
            lines = self._text_lines if self._text_lines is not None else Lines(self._text)
            names = [*names_of_torch(self.tree), *self._own_kernels(), *self._ending()]
            if b"DataParallel" in self._text:
                names.append(f".{ATTRIBUTE}")
            if OWN_MOVE in self._text:
                names += classes_that_move(self.tree)
            self._lines = lines.speaking(names)
        return matters(node, self._lines)

    @cached_property
    def _for_cuda(self) -> list[int]:
        """The lines that have the word by which CUDA's own is named."""
        if OWN_WORD.encode() not in self._text:
            return []
        return (self._text_lines or Lines(self._text)).having(OWN_WORD)

    def _own_kernels(self) -> Iterator[str]:
        """Modules that functions import, packages and the project's own, where only some machines
        can."""
        for found in _LOCAL_IMPORT.finditer(self._text):
            module = found[1].decode(errors="replace")
            if module.endswith("."):  # `from .. import f`
                module += (found[2] or b"").decode(errors="replace")
            name = module.rpartition(".")[2]
            if name and (
                package_worlds(module) is not None
                or (self.project is not None and self.project.imports_on(module) != ALL)
                or (self.project is not None and self.project.may_end(f"{module}.{name}"))
            ):
                yield name

    def _ending(self) -> Iterator[str]:
        """What the file takes from its project that may start processes of NCCL, or need kernels:
        what comes behind a call of it, no Mac comes to."""
        if self.project is None:
            return
        for node in self.tree.body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                for alias in node.names:
                    if self.project.may_end(taken_by(node, alias)):
                        yield alias.asname or alias.name

    # the file

    def release(self) -> None:
        """Lets go of what knows each other: functions of their file, classes of their methods."""
        for function in self.functions.values():
            function.home = function.cls = None
            function.up = []
            function.summaries.clear()
            function.calls.clear()
        for cls in self.classes.values():
            cls.home = None
            cls.methods.clear()
            cls.sites.clear()
            cls.cache.clear()
        self.functions.clear()
        self.classes.clear()
        self.frame = Frame({}, [])
        self.expressions.clear()
        self.statements.clear()
        self.each.clear()

    def settle(self) -> Env:
        """What the names of the module are; without telling of anything. Other files ask this."""
        if not self._settled:
            self._settled = True
            self._module()
        return self.frame.env

    def run(self) -> None:
        """Runs the file and all of its functions, and tells what they do."""
        self._settled = True
        self.recording = True
        self._module()
        frame = self.frame
        end, tests = frame.mask, frame.tests
        self._ended = frame.refused, frame.gate
        self.keep_stored()
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
            if "." in key:
                continue
            if key not in self.global_reads or self._is_only_looked_at(key, value):
                self.kept(value, key, use=self.tree)

    def _is_only_looked_at(self, name: str, value: Value) -> bool:
        """Whether the file only looks at a device under a name of its own that others may have.
        Of a program, which goes on to work, nobody takes any."""
        if self.is_script or any(isinstance(item, _WORKS) for item in self.tree.body):
            return False
        written = {
            node for _, atom in cases_of(value) if atom.kind == DEVICE for node in places(atom)
        }
        return bool(written) and self.is_left_to_others(name, written)

    def _module(self) -> None:
        """Runs what stands at the top. Its functions see what the names are in the end, not what
        they were in front of the first branch behind the function."""
        self.frame.mask &= self.collected_on()
        self.block(self.tree.body)
        for function in self.functions.values():
            if function.up:
                function.up = [*function.up[:-1], self.frame.env]

    # its functions

    def _run_constructors(self) -> None:
        """What `__init__` leaves on `self`, and what methods for CUDA machines alone do, before
        other methods look at it."""
        for function in list(self.functions.values()):
            if function.cls is not None and function.node.name == "__init__":
                if not function.relevant and kept_parameters(function):
                    # Of a flag it cannot be seen by its name what it decides in a method.
                    methods = function.cls.methods.values()
                    function.leading = any(method.relevant for method in methods)
                    function.relevant = function.leading
                self.summary(function)
            elif function.cls is not None and not function.mask & MACS and function.relevant:
                given = self.parameters(function, ())
                self.enter(function, function.mask, NO_TESTS, given, recording=False)

    def _visit(self, function: Function, done: set[Function], end: int, tests: Tests) -> None:
        """Runs a function after those that call it."""
        stack: list[tuple[Function, bool]] = [(function, False)]
        while stack:
            current, ready = stack.pop()
            if current in done and not ready:
                continue
            done.add(current)
            # One that stands in another function is known once that has run.
            callers = [item for item in self._callers_of(current) if item not in done]
            if ready and not callers:
                self._body(current, end, tests)
                continue
            stack.append((current, True))
            stack += [(caller, False) for caller in callers]

    def _callers_of(self, function: Function) -> Iterable[Function]:
        names = [function.node.name]
        if function.cls is not None and function.node.name in ("__init__", "__call__", "forward"):
            names.append(function.cls.node.name)
        elif function.cls is not None and "__init__" not in function.cls.methods:
            names.append(function.cls.node.name)  # Where objects are made says who has methods.
        for name in names:
            for node in self._callers.get(name, ()):
                caller = self.functions.get(node)  # type: ignore[call-overload]
                if caller is None or caller is function:
                    continue
                if name != "__init__" or _may_be_base(function.cls, caller.cls):
                    yield caller
        yield from function.takers
        # What callers give an object when it is made, its methods find on `self`.
        made = function.cls.methods.get("__init__") if function.cls is not None else None
        if made is not None and made is not function and made.home is self:
            yield made

    def _given(self, function: Function, sites: list[Site]) -> Env:
        """What parameters stand for, by the calls in this file, and in others where it may decide
        what these give: a flag that nobody sets is then what its default says."""
        if function.escaped:
            # Somebody else may call it as well, with what nobody sees.
            return self.parameters(function, [*sites, (ALL, NO_TESTS, {})] if sites else ())
        name = name_for_others(function, self.classes.values())
        cls = function.cls
        if sites and cls is not None and cls.given_away and cls.methods.get("__init__") is function:
            sites = [*sites, (ALL, NO_TESTS, {})]
        if self.project is None or name is None:
            return self._joined_with_others(function, method_for_others(function), sites)
        asked = deciding(function, self._for_cuda)
        others = self.project.given(name, *asked) if asked is not None else None
        if others is None:
            return self._joined_with_others(function, name, sites)
        sites = sites + [
            (
                call.worlds,
                NO_TESTS,
                self.bound_arguments(
                    function, call.node, call.args, call.keywords, bound=function.cls is not None
                ),
            )
            for call in others
        ]
        return self.parameters(function, sites, all_seen=bool(sites))

    def _joined_with_others(self, function: Function, name: str | None, sites: list[Site]) -> Env:
        """What parameters stand for, where each of them that this file gives one constant is what
        the other files of the project give as well, as far as that is written out in their calls.
        """
        given = self.parameters(function, sites)
        settled = [item for item, value in given.items() if is_one_constant(value)]
        if not (name and sites and settled and function.relevant and self.project is not None):
            return given
        calls = self.project.calls(name)
        if not calls:
            return given
        bound = function.cls is not None
        for call in calls:
            node = call if call is not None else ANY_CALL
            args, keywords = written_out(node)
            values = self.bound_arguments(function, node, args, keywords, bound=bound)
            values.update(self.left_out(function, values))
            sites = [*sites, (ALL, NO_TESTS, values)]
        wider = self.parameters(function, sites)
        return {**given, **{item: wider[item] for item in settled}}

    def _others_call(self, name: str, here: Iterable[int]) -> bool:
        """Whether another file calls a function, or makes objects of a class, on any machine, where
        this file does so in worlds (`here`) without Macs."""
        if self.project is None or reduce(or_, here, 0) & MACS == MACS:
            return False
        calls = self.project.calls(name)
        return any(call is not None for call in calls) and self.project.entered(name) == ALL

    def _worlds_of_tests(self, cls: Class) -> int:
        """The worlds in which some test of the class is run: those that a mark keeps from all of
        them run no `setUp` either."""
        tests = [item for name, item in cls.methods.items() if name.startswith("test")]
        others = (item for item in self.classes.values() if item is not cls)
        if not tests or any(item.derives_from(cls) for item in others):
            return ALL
        return reduce(or_, (item.mask for item in tests))

    def _body(self, function: Function, end: int, end_tests: Tests) -> None:
        """The run that tells what a function does."""
        if self.steps > MAX_STEPS:
            return
        # Who calls it before the file has come to its end calls it where he is.
        for worlds, _, _ in function.calls.values():
            end |= worlds
        mask, tests = function.mask & end, function.tests
        refused, gate = 0, None
        if mask != function.mask:
            tests |= end_tests
            refused, gate = self._ended
        cls = function.cls
        name = function.node.name
        if cls is not None and cls.made and not function.escaped:
            if not self._others_call(cls.node.name, (worlds for worlds, _ in cls.made.values())):
                mask, tests = _narrowed(mask, tests, cls.made.values())
        outside = (cls is not None and name.startswith("__")) or name in _ENTRIES
        sites = list(function.calls.values())
        if sites and runs_with_defaults(function, self.fixtures, script=self.is_script):
            sites.append((ALL, NO_TESTS, {}))  # The runner's own call.
        elif sites and cls is None and len(function.up) == 1 and not function.handed:
            if function.relevant and self._others_call(name, (worlds for worlds, _, _ in sites)):
                sites.append((ALL, NO_TESTS, {}))
        used = [*((m, t) for m, t, _ in sites), *function.handed]
        if used and not outside and (function.handed or not function.escaped):
            before = mask
            mask, tests = _narrowed(mask, tests, used)
            refused |= before & ~mask & function.refused
            gate = function.gate if before & ~mask & MACS else gate
        public = not any(part.startswith("_") for part in (name, cls.node.name if cls else ""))
        if cls is not None and name in AROUND_EACH:
            mask &= self._worlds_of_tests(cls)
        if self.fixtures.get(name) is function:
            mask &= self.asked_on(function)
        if cls is not None and name == "cuda":  # runs only where somebody asked for CUDA
            mask &= CUDA
        if cls is not None:
            prepared = PREPARING if name.startswith("test") else ()
            for first in ("__init__", *prepared):
                first_run = cls.methods.get(first)
                if first_run is not None and first_run is not function and not function.static:
                    left = mask & self.summary(first_run)[1]
                    if left & MACS != mask & MACS and first_run.home is self:
                        tests |= first_run.end_tests
                    refused |= mask & ~left
                    mask = left
        given = self._given(function, sites)
        chosen: Env | None = None
        if sites and (function.escaped or (public and not self.is_script)):
            said = self.parameters(function, sites) if function.escaped else dict(given)
            for parameter, value in self.parameters(function, ()).items():
                if one(value, ALL).kind == DEVICE:  # Others may call it without.
                    chosen = said if parted(said[parameter], ALL) else chosen
                    given[parameter] = lift(join, given[parameter], value)
        if name.startswith("test"):
            for used_first in self.used_by(function):
                ends = self.left_by_fixture(used_first)
                refused |= mask & ~ends
                mask &= ends
        for parameter in [key for key in given if key in self.fixtures]:
            value, ends = self.fixture(self.fixtures[parameter])  # pytest runs the fixture first
            refused |= mask & ~ends
            mask &= ends
            given[parameter] = value
        first = function.node.body[0]
        self.reach[first] = self.reach.get(first, 0) | mask
        if mask and function.relevant:
            # What callers choose is told beside what they get who leave it out.
            for way in (chosen, given) if chosen is not None else (given,):
                self.enter(function, mask, tests, way, recording=True, refused=refused, gate=gate)


@cache
def _transfers(prefix: str) -> tuple[tuple[type[ast.AST], str], ...]:
    """The methods that say what expressions (`e_Call`) or statements (`s_If`) do, by their kind."""
    names = [name for name in dir(Interpreter) if name.startswith(prefix)]
    return tuple((getattr(ast, n[2:]), n) for n in names if hasattr(ast, n[2:]))


def _runs(statement: ast.stmt, own: frozenset[str]) -> bool:
    """`if __name__ == "__main__":`, or a call of a function of its `own` at the top."""
    return is_main_block(statement) or (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and isinstance(statement.value.func, ast.Name)
        and statement.value.func.id in own
    )


def _may_be_base(cls: Class | None, other: Class | None) -> bool:
    """Whether `super().__init__()` in a class may be that of another."""
    return cls is None or other is None or (cls is not other and other.derives_from(cls))


def _narrowed(mask: int, tests: Tests, sites: Iterable[tuple[int, Tests]]) -> tuple[int, Tests]:
    """The worlds in which something is called at all, of those that it could run in."""
    reached, why = 0, NO_TESTS
    for worlds, causes in sites:
        reached |= worlds
        why |= causes
    if reached & mask != mask:
        return mask & reached, tests | why
    return mask, tests
