"""Loops, blocks that deal with exceptions, and ways out."""

from __future__ import annotations

import ast

from mpslint.facts import machines as facts
from mpslint.semantics.syntax.giving_up import gives_up
from mpslint.semantics.syntax.index import FUNCTIONS, walk
from mpslint.semantics.worlds.branches import Branches
from mpslint.semantics.worlds.errors import ANY_ERROR, EVERY_ERROR, kinds_of, may_catch
from mpslint.semantics.worlds.events import Kind
from mpslint.semantics.worlds.insisting import names_nvidia
from mpslint.semantics.worlds.machines import ALL, MAC, MACS, NVIDIA, mac_of_ported, sent_away
from mpslint.semantics.worlds.numbers import kind_of
from mpslint.semantics.worlds.probes import Probes
from mpslint.semantics.worlds.values import (
    CONST,
    NAME,
    NO_TESTS,
    NONE,
    SEQUENCE,
    STREAM,
    UNK,
    UNKNOWN,
    Atom,
    Tests,
    Value,
    cases_of,
    holds_device,
    lift,
    one,
    tested,
    where,
)

_MAX_FUNCTIONS = 8
_EXPECTING = frozenset({"pytest.raises", "unittest.mock.patch", "unittest.mock.patch.object"})
"""Contexts in which an error is expected, or nothing real is called."""


# Fact: torch/_subclasses/fake_tensor.py: what is made under it is on `meta`, and says that it is on
# the device that was asked for; `.cuda()` starts CUDA all the same.
_FAKING = frozenset(
    {"torch._subclasses.fake_tensor.FakeTensorMode", "torch._subclasses.FakeTensorMode"}
)

_MISSING = frozenset({"AttributeError"})
"""What a name that torch does not have raises."""
_NOT_FOUND = frozenset({"ImportError", "ModuleNotFoundError"})


_MIXED_PRECISION = facts.CUDA_AUTOCAST | facts.CUDA_SCALER
"""What each torch has that is still used: since 1.6."""
_OF_MIXED_PRECISION = frozenset(name.rpartition(".")[2] for name in _MIXED_PRECISION)

_QUIET = (
    ast.If, ast.Assign, ast.Pass, ast.Name, ast.Attribute, ast.Constant, ast.alias,
    ast.expr_context, ast.BoolOp, ast.boolop, ast.UnaryOp, ast.unaryop, ast.Global,
)  # fmt: skip
"""Statements, and parts of them, that raise nothing but for names that are missing."""

_NAMING = (*FUNCTIONS, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)
"""What binds a name that is no node of its own."""


class ControlFlow(Probes, Branches):
    def entered_with(self, context: ast.expr, value: Value) -> Value:
        raise NotImplementedError

    # loops

    def loop(
        self, node: ast.For | ast.AsyncFor | ast.While, target: ast.expr | None, value: Value
    ) -> int:
        """Gives the worlds that leave the loop by `break`."""
        frame = self.frame
        mask, env = frame.mask, frame.env
        # The second turn knows less of plain constants: something may have set them.
        plain = {
            key
            for key, v in env.items()
            if v.__class__ is Atom and v.kind == CONST and not v.tests and v.v is not None
        }
        if plain:
            bound = _bound_in(node)
            if frame.function is None:  # What it calls may set names of the module as well.
                bound |= self.rebound
            plain = {key for key in plain if "." in key} | plain & bound
        frame.env = {key: _set_anew(v) if key in plain else v for key, v in env.items()}
        if target is not None:
            self.bind(target, value)
        broken, frame.broken = frame.broken, 0
        own, frame.own = frame.own, False
        self.block(node.body)
        left, frame.broken = frame.broken, broken
        after = frame.mask | left or mask
        # Who comes to it takes a turn: what each turn ends in, the loop does.
        lost = frame.own and not frame.caught and not frame.mask & MACS and _takes_turns(node)
        frame.own = frame.own or own
        frame.mask = mask & frame.mask if lost else mask
        frame.env = self.merge(env, mask, env, after, frame.env, NO_TESTS)
        if node.orelse:
            self.block(node.orelse)
        return left

    def s_For(self, node: ast.For | ast.AsyncFor) -> None:
        iterated = self.eval(node.iter)
        turns = self.turns(node.iter)
        mask = self.frame.mask
        if turns is not None:
            self.frame.mask = turns
        if self.frame.mask:
            here = self.frame.mask
            for item in _seeding(iterated) or (self.items_of(iterated),):
                self.loop(node, node.target, item)
            mask &= ~here | self.frame.mask
        self.frame.mask = mask

    s_AsyncFor = s_For

    def s_While(self, node: ast.While) -> None:
        frame = self.frame
        mask = frame.mask
        yes, _, _ = self.cond(node.test)
        left = 0
        if yes:
            frame.mask = yes
            left = self.loop(node, None, UNK)
        endless = isinstance(node.test, ast.Constant) and node.test.value
        # A way out that nobody is seen to take says that we know too little.
        frame.mask = left if endless and left else mask
        frame.refused &= ~frame.mask

    # exceptions

    def s_With(self, node: ast.With | ast.AsyncWith) -> None:
        frame = self.frame
        caught, mask, why, gate = frame.caught, frame.mask, frame.tests, frame.gate
        outer, frame.errors = frame.errors, {}
        suppressed: frozenset[str] = frozenset()
        casting = frame.casting
        mark, faking = len(self.log), False
        for item in node.items:
            expression = item.context_expr
            value = self.eval(expression)
            if holds_device(value, frame.mask):  # `with torch.device("cuda"):`
                self.place(value, expression)
            if isinstance(expression, ast.Call):
                function = expression.func
                if isinstance(function, ast.Name) and function.id == "open" and expression.args:
                    value = Atom(STREAM, ast.dump(expression.args[0]))
                elif self._suppresses(function):
                    suppressed |= kinds_of(ast.Tuple(expression.args, ast.Load()))
                elif self.expects_error(function):
                    frame.caught = EVERY_ERROR
                elif self._name_of(function) in _FAKING:
                    faking = True
                frame.casting = frame.casting or self._casts(expression)
            value = self.entered_with(expression, value)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, value)
        if not suppressed.isdisjoint(facts.CUDA_ERRORS):
            frame.caught |= suppressed
        self.block(node.body)
        if faking:
            self.forget(mark, (Kind.PLACED,))
        frame.caught, frame.casting = caught, casting
        back = self._take(suppressed) & mask if suppressed else 0
        frame.mask |= back
        if back:
            frame.tests, frame.gate = why, gate
        self._pass_on(outer)

    s_AsyncWith = s_With

    def _suppresses(self, function: ast.expr) -> bool:
        return self._name_of(function) == "contextlib.suppress"

    def _casts(self, context: ast.Call) -> bool:
        """Whether mixed precision is on inside for a Mac: `torch.autocast(device.type)`, and what
        others have of this name (`accelerator.autocast()`)."""
        for event in reversed(self.log[-2:]):
            if event.use is context and event.kind is Kind.AUTOCAST:
                on = cases_of(event.value, event.worlds & MACS)
                return any(where(atom) != "cuda" for _, atom in on)
        function = context.func
        name = self._name_of(function)
        known = name is not None and name.startswith("torch.")
        return isinstance(function, ast.Attribute) and function.attr == "autocast" and not known

    def _name_of(self, function: ast.expr) -> str | None:
        name = one(self.named_only(function), ALL)
        return str(name.v) if name.kind == NAME else None

    def expects_error(self, function: ast.expr) -> bool:
        if isinstance(function, ast.Attribute) and function.attr.startswith("assertRaises"):
            return True
        return self._name_of(function) in _EXPECTING

    def _take(self, kinds: frozenset[str]) -> int:
        """The worlds whose errors somebody catches who names these kinds."""
        frame, found = self.frame, 0
        for error in [error for error in frame.errors if may_catch(kinds, error)]:
            found |= frame.errors.pop(error)
        frame.refused &= ~found
        return found

    def _pass_on(self, outer: dict[str, int]) -> None:
        """What nobody has caught ends what is around."""
        frame = self.frame
        for error, worlds in frame.errors.items():
            outer[error] = outer.get(error, 0) | worlds
        frame.errors = outer
        frame.refused &= ~frame.mask

    def s_Try(self, node: ast.Try) -> None:
        frame = self.frame
        mask, why, env, caught = frame.mask, frame.tests, frame.env, frame.caught
        gate = frame.gate
        outer, frame.errors = frame.errors, {}
        for handler in filter(_deals_with, node.handlers):
            frame.caught |= kinds_of(handler.type)
        frame.env = dict(env)
        mark, probes = len(self.log), NO_TESTS
        if frame.caught is caught:
            self.block(node.body)
        else:
            probes = self.tried(node.body)
        end_of_trial = len(self.log)
        raised, frame.errors = frame.errors, {}
        if frame.mask:
            self.block(node.orelse)
        frame.caught = caught
        worlds = through = frame.mask
        end = frame.env
        later, frame.errors = frame.errors, raised
        # What may have raised has done a part of its work: a handler sees both.
        for handler in node.handlers:
            known = 0
            for those in frame.errors.values():
                known |= those
            taken = self._take(kinds_of(handler.type))
            frame.mask, frame.tests, frame.env, frame.gate = mask & ~known | taken, why, env, gate
            if probes:
                frame.mask = taken
            if handler.type is not None and kinds_of(handler.type) <= _MISSING:
                if self._asks_torch_alone(node.body) or self._only_names(node.body):
                    frame.mask = 0  # An arm for an old torch.
            elif self._only_asks(node.body) or self._only_names(node.body):
                frame.mask = 0
            before, frame.errors = frame.errors, {}
            # Where CUDA comes through, a Mac that does not has met what only CUDA has.
            lacking = mask & MACS & ~through & ~known if through & NVIDIA else 0
            raising, frame.raised = frame.raised, (handler.name or "", taken | lacking)
            if frame.mask:
                frame.env = dict(env)
                self.block(handler.body)
                if _complains(handler):
                    frame.mask &= through  # Others lack what was to be imported.
                end = self.merge(env, worlds, end, frame.mask, frame.env, probes)
                worlds |= frame.mask
            for error, those in frame.errors.items():
                later[error] = later.get(error, 0) | those
            frame.errors, frame.raised = before, raising
        for error, those in later.items():
            frame.errors[error] = frame.errors.get(error, 0) | those
        frame.mask, frame.env, frame.tests, frame.gate = worlds, end, why, gate
        if probes and any(self._asks_mps(handler) for handler in node.handlers):
            # What was told of a trial of CUDA behind which MPS is asked for.
            self.forget(mark, (Kind.MOVED,), end_of_trial, caught=True)
        if node.finalbody:
            frame.mask = mask
            self.block(node.finalbody)
            frame.mask &= worlds
        if mask & ~frame.mask & MACS and not frame.mask & MACS:
            frame.gate = gate
        self._pass_on(outer)

    s_TryStar = s_Try

    def _asks_mps(self, handler: ast.ExceptHandler) -> bool:
        return any(item in self.mps_tests for item in ast.walk(handler))

    def _asks_torch_alone(self, body: list[ast.stmt]) -> bool:
        """Whether all that may be missing in a block are names of torch."""
        for statement in body:
            for item in ast.walk(statement):
                if isinstance(item, ast.Import | ast.ImportFrom):
                    return False
                if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load):
                    value = self.lookup(item.id)
                    found = one(value, ALL) if value is not None else UNK
                    if found.kind != NAME or str(found.v).partition(".")[0] != "torch":
                        return False
        return True

    def _only_names(self, body: list[ast.stmt]) -> bool:
        """Whether a block does nothing but give names to what no torch lacks:
        `from torch.cuda.amp import GradScaler`."""
        for statement in body:
            if isinstance(statement, ast.ImportFrom):
                names = {f"{statement.module}.{one.name}" for one in statement.names}
                if statement.level or not names <= _MIXED_PRECISION:
                    return False
            elif isinstance(statement, ast.Assign):
                value = statement.value
                if isinstance(value, ast.Constant):
                    continue
                if not isinstance(value, ast.Attribute) or value.attr not in _OF_MIXED_PRECISION:
                    return False  # Whatever it is of: to ask for that could end the run once more.
                if self._name_of(value) not in _MIXED_PRECISION:
                    return False
            else:
                return False
        return True

    def _only_asks(self, body: list[ast.stmt]) -> bool:
        """Whether a block does nothing that fails in a torch that is still used: it asks for MPS,
        and keeps what it finds in names."""
        return any(map(_asks_for_mps, body)) and all(
            isinstance(item, _QUIET)
            or (isinstance(item, ast.Import) and all(_is_torchs(one.name) for one in item.names))
            or (isinstance(item, ast.Call) and self._name_of(item.func) in facts.ANSWERS)
            for statement in body
            for item in ast.walk(statement)
        )

    # leaving

    def s_Return(self, node: ast.Return) -> None:
        frame = self.frame
        value = self.eval(node.value) if node.value is not None else NONE
        if one(value, frame.mask).kind == NAME:
            self.kept(value)
        if frame.tests:
            value = lift(lambda atom: tested(atom, frame.tests), value)
        frame.returns.append((frame.mask, value))
        self.leave()
        frame.mask = 0

    def s_Raise(self, node: ast.Raise) -> None:
        if node.exc is not None:
            self.eval(node.exc)
        raised = kinds_of(node.exc.func if isinstance(node.exc, ast.Call) else node.exc)
        (error,) = raised if len(raised) == 1 else (ANY_ERROR,)
        self.refuse(self.frame.mask, error)

    def s_Break(self, node: ast.Break) -> None:
        self.frame.broken |= self.frame.mask
        self.frame.mask = 0

    def s_Continue(self, node: ast.Continue) -> None:
        self.frame.mask = 0

    def s_Assert(self, node: ast.Assert) -> None:
        frame = self.frame
        if self.is_function_itself(node.test):
            return
        yes, _, tests = self.cond(node.test)
        before = frame.mask
        is_own = not yes & MACS and not tests.isdisjoint(self.own_tests)
        if is_own and not frame.caught:
            self.owned(yes)  # `assert backend == "nccl"`
            return
        if self._insists_in(node, yes, tests) and not frame.caught:
            self.owned(yes & ~MACS)
            return
        self.refuse(before & ~yes, "AssertionError")
        if before & ~yes & MACS:
            frame.gate = node.test
        if before & ~yes & MAC & mac_of_ported(yes) and not frame.caught:
            asked = self.was_asked(before & ~yes & MAC, node.test)
            self.emit(Kind.REFUSED, node, worlds=before, tests=tests, likely=asked)
        if sent_away(before, yes):
            frame.tests |= tests

    def _insists_in(self, node: ast.Assert, yes: int, tests: Tests) -> bool:
        """Whether no Mac gets past an assertion that asks for NVIDIA's GPU by its name."""
        if yes & MAC or not self.frame.mask & MAC or tests.isdisjoint(self.cuda_tests):
            return False
        if not tests.isdisjoint(self.device_tests):
            return False
        said = [ast.Expr(node.msg)] if node.msg is not None else []
        return not tests.isdisjoint(self.toolkit_tests) or names_nvidia(said)


def _is_torchs(module: str) -> bool:
    return module.partition(".")[0] == "torch"


def _asks_for_mps(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and any(
        isinstance(item, ast.Attribute) and item.attr == "mps" for item in ast.walk(statement.test)
    )


def _deals_with(handler: ast.ExceptHandler) -> bool:
    """A handler for what torch raises without CUDA, that does not raise in its turn."""
    if any(
        isinstance(item, ast.Raise) for statement in handler.body for item in ast.walk(statement)
    ):
        return False
    if gives_up(handler.body):
        return False
    return handler.type is None or not facts.CUDA_ERRORS.isdisjoint(kinds_of(handler.type))


def _set_anew(value: Value) -> Atom:
    """What a plain constant is once something may have set it: of a number, some number or what is
    computed with it."""
    kind = kind_of(one(value, ALL))
    return Atom(UNKNOWN, unread=kind) if kind is not None else UNK


def _complains(handler: ast.ExceptHandler) -> bool:
    """Whether all that a handler does about a missing module is to raise, be it on a condition:
    `except ImportError: if not installing: raise ImportError(...)`."""
    if handler.type is None or not kinds_of(handler.type) <= _NOT_FOUND:
        return False
    return all(
        isinstance(item, ast.If) and not item.orelse and isinstance(item.body[-1], ast.Raise)
        for item in handler.body
    )


def _seeding(iterated: Value) -> tuple[Value, ...] | None:
    """The functions that a loop calls one by one, where one of them seeds a device:
    `for seed in (random.seed, torch.manual_seed): seed(0)`."""
    if iterated.__class__ is not Atom or iterated.kind != SEQUENCE:
        return None
    items: tuple[Value, ...] = iterated.v
    names = [one(item, ALL) for item in items]
    if len(names) > _MAX_FUNCTIONS or not all(name.kind == NAME for name in names):
        return None
    seeds = any(facts.EFFECTS.get(str(name.v)) == "seed" for name in names)
    return items if seeds else None


def _takes_turns(loop: ast.stmt) -> bool:
    """Whether each turn of a loop over something comes to its end."""
    return isinstance(loop, ast.For) and not any(
        isinstance(item, ast.Break | ast.Continue | ast.Return) for item in walk(loop)
    )


def _bound_in(loop: ast.stmt) -> set[str]:
    """The names that a turn of a loop may bind."""
    found: set[str] = set()
    for item in walk(loop):
        if isinstance(item, ast.Name):
            if not isinstance(item.ctx, ast.Load):
                found.add(item.id)
        elif isinstance(item, ast.alias):
            found.add(item.asname or item.name.partition(".")[0])
        elif isinstance(item, _NAMING) and item.name:
            found.add(item.name)
        elif isinstance(item, ast.Nonlocal | ast.Global):
            found.update(item.names)
    return found
