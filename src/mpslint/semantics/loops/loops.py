"""Loops that run device work, and whether a node in one runs at every step.

A loop *runs device work* when it calls a model, runs backward or an optimizer step, or draws
batches from a loader. A loop whose body only repeats another such loop (epochs) is not one: what
stands in its body outside the inner loop happens once per epoch.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator

from mpslint.facts.clocks import CLOCKS
from mpslint.facts.priors import matches
from mpslint.semantics.loops.asked_gradients import only_asks_gradients
from mpslint.semantics.loops.finite_checks import broken_arm
from mpslint.semantics.loops.intervals import is_part_of_training, turns_once
from mpslint.semantics.loops.loop_tests import holds_once, is_filled, mode, warms_up
from mpslint.semantics.loops.rare_tests import RareTests
from mpslint.semantics.names.flow import Flow
from mpslint.semantics.names.names import Names
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import FUNCTIONS, LOOPS, FunctionNode, Index
from mpslint.semantics.syntax.methods import methods_named
from mpslint.semantics.syntax.node_kinds import of_kinds
from mpslint.semantics.values.values import Kind, Values

Loop = ast.For | ast.AsyncFor | ast.While
_ENDS = frozenset((*FUNCTIONS, ast.Lambda, ast.ClassDef))
"""What stands in these is not run by the turns of a loop around them."""
_CALLS_OF_A_WAIT = 4
"""`if torch.cuda.is_available(): torch.cuda.synchronize(device)`, and the same for MPS."""


class LoopKind(enum.Enum):
    TRAIN = "train"
    EVAL = "eval"
    DEVICE = "device"
    """Runs device work, and nobody says whether it trains."""
    NONE = "none"


class Loops:
    def __init__(self, index: Index, names: Names, values: Values, flow: Flow) -> None:
        self._index = index
        self._names = names
        self._values = values
        self._flow = flow
        self._kinds: dict[ast.AST, LoopKind] = {}
        self._calls: dict[Loop | FunctionNode, list[ast.Call]] | None = None
        self._rare = RareTests(index, names, flow)
        self._waits: dict[Loop | FunctionNode, bool] = {}
        self._skipped: dict[Loop | FunctionNode, frozenset[ast.stmt]] = {}
        self._every: dict[tuple[ast.stmt, Loop | FunctionNode], bool] = {}
        self._steps: dict[FunctionNode | Loop, bool] = {}

    def kind(self, loop: Loop) -> LoopKind:
        known = self._kinds.get(loop)
        if known is None:
            known = self._kinds[loop] = self._classify(loop)
        return known

    def innermost(self, node: ast.AST) -> Loop | None:
        """The loop whose every turn evaluates `node`; None outside loops and in its header.
        `for i in range(1):` is none: it repeats nothing."""
        parents = self._index.parents
        child, parent = node, parents.get(node)
        while parent is not None:
            kind = parent.__class__
            if kind in _ENDS:
                return None
            if isinstance(parent, LOOPS):
                if child in parent.body and not turns_once(parent):
                    return parent
                if isinstance(parent, ast.While) and child is parent.test:
                    return parent
            child, parent = parent, parents.get(parent)
        return None

    def device_loop(self, node: ast.AST) -> Loop | None:
        """The innermost loop around `node`, if it runs device work at each turn."""
        loop = self.innermost(node)
        if loop is None or self.kind(loop) is LoopKind.NONE:
            return None
        return loop

    def is_step(self, function: FunctionNode | Loop) -> bool:
        """Whether a call of `function`, or a turn of a loop, is one step of training: it goes back
        through the graph and lets an optimizer step, neither of them in a loop in it."""
        known = self._steps.get(function)
        if known is None:
            calls = [call for call in self._own_calls(function) if self._trains(call)]
            named = {call.func.attr for call in calls}  # type: ignore[attr-defined]
            known = self._steps[function] = named >= {"backward", "step"}
        return known

    def every_step(self, node: ast.AST, loop: Loop | FunctionNode) -> bool:
        """Whether `node` runs at every turn of `loop`, or at every call of that function: under no
        step, rank or verbosity test."""
        child, parents = node, self._index.parents
        while not isinstance(child, ast.stmt):
            parent = parents[child]
            if parent is loop:  # in the test of a `while`
                return True
            if self._is_seldom(parent, child, loop):
                return False
            child = parent
        # What stands in one statement shares the rest of the way.
        known = self._every.get((child, loop))
        if known is None:
            known = self._every[child, loop] = self._runs_every_step(child, loop)
        return known

    def _runs_every_step(self, statement: ast.stmt, loop: Loop | FunctionNode) -> bool:
        child: ast.AST = statement
        for parent in self._index.ancestors(statement):
            if parent is loop:
                break
            if self._is_seldom(parent, child, loop):
                return False
            child = parent
        return not self._after_skip(statement, loop)

    def _is_seldom(self, parent: ast.AST, child: ast.AST, loop: Loop | FunctionNode) -> bool:
        """Whether `parent` comes to `child` at some of the turns alone."""
        if isinstance(parent, ast.match_case):
            return not self._is_of_parts(loop) and self._rare.of_few_turns(parent, child)
        if isinstance(parent, ast.If | ast.IfExp) and child is not parent.test:
            is_rare = self._rare.holds(parent.test) and not self._rare.of_most_turns(parent, child)
            if is_rare or warms_up(parent.test):
                if not self._decides_training(parent, child):
                    return True
            if not self._is_of_parts(loop) and self._rare.of_few_turns(parent, child):
                if not self._decides_training(parent, child):
                    return True
            if self._rare.of_one_turn(parent, child) or self._in_another_mode(parent, child, loop):
                return True
            body = parent.body if isinstance(parent.body, list) else []
            if child in body and holds_once(parent.test, [*body, *self._own_calls_of(body)]):
                return True
            if child in body and is_filled(parent.test, True, body):
                return True
            broken = broken_arm(self._names, parent.test)
            if broken is not None and (child in body or child is parent.body) is broken:
                return True
            if body and isinstance(body[-1], ast.Return) and isinstance(parent, ast.If):
                # `if kind == "mse": return ...`, and an error behind all such: one is taken.
                if isinstance(loop, FUNCTIONS) and self._ends_in_error(parent):
                    return False
            return any(isinstance(s, ast.Break | ast.Return | ast.Raise) for s in body)
        if isinstance(parent, ast.BoolOp) and isinstance(parent.op, ast.And):
            # `step % 100 == 0 and torch.isnan(loss)` comes to its second part rarely.
            before = parent.values[: next(i for i, v in enumerate(parent.values) if v is child)]
            if any(self._rare.holds(value) for value in before):
                return True
            return not self._is_of_parts(loop) and any(map(self._rare.few_turns_pass, before))
        return isinstance(parent, ast.ExceptHandler)

    def is_run_once(self, node: ast.AST, function: FunctionNode) -> bool:
        """Whether a function comes to a node only until that has switched its flag over."""
        child = node
        for parent in self._index.ancestors(node):
            if parent is function:
                return False
            if isinstance(parent, ast.If) and child in parent.body:
                if holds_once(parent.test, [*parent.body, *self._own_calls_of(parent.body)]):
                    return True
            child = parent
        return False

    def _own_calls_of(self, body: list[ast.stmt]) -> Iterator[ast.stmt]:
        """What the methods of the same object do that are called in an arm: `self.prepare()`."""
        for item in body:
            call = item.value if isinstance(item, ast.Expr) else None
            made = call.func if isinstance(call, ast.Call) else None
            if not isinstance(made, ast.Attribute) or not isinstance(made.value, ast.Name):
                continue
            owner = self._index.enclosing(item, ast.ClassDef)
            if made.value.id == "self" and isinstance(owner, ast.ClassDef):
                for method in methods_named(owner, made.attr):
                    yield from method.body

    def _ends_in_error(self, branch: ast.If) -> bool:
        return isinstance(self._index.block(branch)[-1], ast.Raise)

    def _is_of_parts(self, loop: Loop | FunctionNode) -> bool:
        """Whether the turns of a loop may be parts of one step, the layers of a module: what a few
        of them do, each step does."""
        if not isinstance(loop, LOOPS) or self.kind(loop) in (LoopKind.TRAIN, LoopKind.EVAL):
            return False
        return not isinstance(loop, ast.For) or not self.draws_batches(loop)

    def _decides_training(self, branch: ast.If | ast.IfExp, child: ast.AST) -> bool:
        """Whether the arm around `child` is a step of training itself, which a test decides about:
        `if step % n_critic == 0:`, and the loss of the generator goes back there."""
        if not isinstance(branch, ast.If) or not is_part_of_training(self._index, branch.test):
            return False
        arm = branch.body if child in branch.body else branch.orelse
        loop = self.innermost(branch)
        return any(
            self._goes_back(call) and self._index.block(self._index.statement(call)) is arm
            for call in (self._own_calls(loop) if loop is not None else ())
        )

    def _goes_back(self, call: ast.Call) -> bool:
        return isinstance(call.func, ast.Attribute) and call.func.attr == "backward"

    def _in_another_mode(
        self, branch: ast.If | ast.IfExp, child: ast.AST, loop: Loop | FunctionNode
    ) -> bool:
        """Whether `child` stands under `mode == "test"`, where all that trains in the loop stands
        under `mode == "train"`."""
        named = mode(branch.test)
        inside = branch.body if isinstance(branch.body, list) else [branch.body]
        if named is None or child not in inside:
            return False
        training = [call for call in self._own_calls(loop) if self._trains(call)]
        return bool(training) and all(
            any(value != named[1] for value in self._modes(call, named[0])) for call in training
        )

    def _modes(self, node: ast.AST, name: str) -> Iterator[object]:
        """What `name` equals where `node` runs, as the tests around it say."""
        child = node
        for parent in self._index.ancestors(node):
            if isinstance(parent, ast.If) and child in parent.body:
                named = mode(parent.test)
                if named is not None and named[0] == name:
                    yield named[1]
            child = parent

    def works(self, node: ast.AST) -> bool:
        """Whether `node` queues device work: calls a model, runs backward or an optimizer step."""
        return any(
            isinstance(item, ast.Call) and (self._trains(item) or self._is_model_call(item))
            for item in of_kinds(node, {ast.Call})
        )

    def repeats(self, node: ast.AST) -> bool:
        """Whether the loop around `node` does the same again: `for _ in range(100)`."""
        loop = self.innermost(node)
        if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call):
            return False
        call = loop.iter
        if call.args and self._values.last_name(call.func) in ("tqdm", "trange"):
            call = call.args[0] if isinstance(call.args[0], ast.Call) else call
        return self._values.last_name(call.func) in ("range", "trange", "repeat")

    def waits_anyway(self, loop: Loop | FunctionNode) -> bool:
        """Whether every turn of `loop` waits for the device on purpose (`synchronize`)."""
        known = self._waits.get(loop)
        if known is None:
            known = self._waits[loop] = any(
                (_is_wait(call) or self._calls_wait(call))
                and self.every_step(call, loop)
                and not self._measures_when_asked(call, loop)
                for call in self._own_calls(loop)
            )
        return known

    def _measures_when_asked(self, wait: ast.Call, loop: Loop | FunctionNode) -> bool:
        """Whether a wait and the clock that it is for stand in an arm of their own: `if
        args.measure: synchronize(); start = time()`. Who does not measure does not wait."""
        for parent in self._index.ancestors(wait):
            if parent is loop:
                return False
            if isinstance(parent, ast.If) and not parent.orelse and not _asks_for_calls(parent):
                return any(
                    isinstance(item, ast.Call) and self._names.resolve(item.func) in CLOCKS
                    for statement in parent.body
                    for item in ast.walk(statement)
                )
        return False

    def _calls_wait(self, call: ast.Call) -> bool:
        """Whether a function of this file is called that does little but wait: `def sync(): ...`"""
        if not isinstance(call.func, ast.Name):
            return False
        return any(
            isinstance(binding.node, FUNCTIONS)
            and len(own := self._own_calls(binding.node)) <= _CALLS_OF_A_WAIT
            and any(map(_is_wait, own))
            for binding in self._flow.reaching(call.func)
        )

    def _trains(self, call: ast.Call) -> bool:
        function = call.func
        if not isinstance(function, ast.Attribute):
            return False
        if function.attr == "backward":
            return True
        return function.attr == "step" and self.is_optimizer(function.value)

    def _after_skip(self, node: ast.AST, loop: Loop | FunctionNode) -> bool:
        """Behind `if step % n: continue` in the body of the loop."""
        statement = self._index.statement(node)
        if statement is loop:  # in the test of a `while`
            return False
        while self._index.parents[statement] is not loop:
            statement = self._index.statement(self._index.parents[statement])
        skipped = self._skipped.get(loop)
        if skipped is None:
            skips = (at for at, item in enumerate(loop.body, 1) if self._skips(item, loop))
            first = next(skips, len(loop.body))
            skipped = self._skipped[loop] = frozenset(loop.body[first:])
        return statement in skipped

    def _skips(self, item: ast.stmt, loop: Loop | FunctionNode) -> bool:
        if not isinstance(item, ast.If):
            return False
        if not any(isinstance(s, ast.Continue | ast.Return) for s in item.body):
            return False
        is_rare = self._rare.holds(item.test) and not self._rare.most_turns_go_on(item.test)
        if is_rare or is_filled(item.test, False, loop.body[loop.body.index(item) + 1 :]):
            return True
        return not self._is_of_parts(loop) and self._rare.keeps_few_turns(item.test)

    def _classify(self, loop: Loop) -> LoopKind:
        if any(isinstance(item, ast.Return | ast.Break | ast.Raise) for item in loop.body):
            return LoopKind.NONE  # It turns at most once.
        calls = self._own_calls(loop)
        if any(self._trains(call) for call in calls):
            asks = only_asks_gradients(self._index, loop)
            return LoopKind.DEVICE if asks else LoopKind.TRAIN
        works = any(self._is_model_call(call) for call in calls)
        if not works and isinstance(loop, ast.For | ast.AsyncFor) and self.draws_batches(loop):
            works = self._touches_device(loop)
        if not works:
            return LoopKind.NONE
        return LoopKind.EVAL if self.without_gradients(loop) else LoopKind.DEVICE

    def _own_calls(self, loop: Loop | FunctionNode) -> list[ast.Call]:
        """Calls of the body, without those of inner loops and inner functions."""
        if self._calls is None:
            self._calls = {}
            for call in self._index.of(ast.Call):
                around = self.innermost(call) or self._index.function(call)
                if around is not None:
                    self._calls.setdefault(around, []).append(call)
        return self._calls.get(loop, [])

    def is_optimizer(self, node: ast.expr) -> bool:
        """Whether `node` is an optimizer or a gradient scaler, by its value or its name."""
        if self._values.of(node).kind in (Kind.OPTIMIZER, Kind.SCALER):
            return True
        return matches("optimizer-names", self._values.last_name(node))

    def _is_model_call(self, node: ast.Call) -> bool:
        value = self._values.of(node.func)
        if value.kind is Kind.MODULE:
            return True
        result = self._values.of(node)
        return (
            result.kind is Kind.TENSOR and result.loss and not isinstance(node.func, ast.Attribute)
        )

    def draws_batches(self, loop: ast.For | ast.AsyncFor) -> bool:
        """Whether the loop goes through a loader."""
        drawn = self._values.drawn(loop.iter, None, True)
        return drawn.kind is Kind.TENSOR

    def _touches_device(self, loop: Loop) -> bool:
        return any(
            isinstance(call.func, ast.Attribute) and call.func.attr in ("to", "cuda")
            for call in self._own_calls(loop)
        )

    def without_gradients(self, node: ast.AST) -> bool:
        """Whether `node` runs under `no_grad` or `inference_mode` in its function."""
        for parent in self._index.ancestors(node):
            if isinstance(parent, ast.With | ast.AsyncWith):
                for item in parent.items:
                    call = item.context_expr
                    target = call.func if isinstance(call, ast.Call) else call
                    if self._values.last_name(target) in ("no_grad", "inference_mode"):
                        return True
            if isinstance(parent, FUNCTIONS):
                return any(
                    self._values.last_name(d.func if isinstance(d, ast.Call) else d)
                    in ("no_grad", "inference_mode")
                    for d in parent.decorator_list
                )
        return False


def _asks_for_calls(branch: ast.If) -> bool:
    """`if torch.cuda.is_available():`, which says what the machine is, not what it is to do."""
    return any(isinstance(item, ast.Call) for item in ast.walk(branch.test))


def _is_wait(call: ast.Call) -> bool:
    return (last_name(call.func) or "").lower().endswith(("synchronize", "device_sync"))
