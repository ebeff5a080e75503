"""Where the worlds part, and what names stand for where they meet again: `if` and `match`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.facts import machines as facts
from mpslint.facts.priors import names_request
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.giving_up import gives_up
from mpslint.semantics.syntax.node_kinds import of_kinds
from mpslint.semantics.syntax.saying import only_says
from mpslint.semantics.worlds.comparing import equal
from mpslint.semantics.worlds.events import Kind
from mpslint.semantics.worlds.expressions import Expressions
from mpslint.semantics.worlds.insisting import asks_for_nvidia
from mpslint.semantics.worlds.joining import unless_replaced
from mpslint.semantics.worlds.machines import (
    ALL,
    MAC,
    MACS,
    NVIDIA,
    PORTED,
    SWITCH,
    mac_of_ported,
    sent_away,
)
from mpslint.semantics.worlds.ranked_tests import answered, starts_group
from mpslint.semantics.worlds.state import Env, Function
from mpslint.semantics.worlds.values import (
    BOT,
    CONST,
    DEVICE,
    NAME,
    NAMESPACE,
    NO_TESTS,
    UNK,
    UNKNOWN,
    Atom,
    Tests,
    Value,
    cases_of,
    one,
    pack,
)

_EFFECTS = (Kind.EFFECT, Kind.AUTOCAST, Kind.SCALED, Kind.MOVED, Kind.TYPED, Kind.PLACED)

_QUESTIONS = frozenset(name.rpartition(".")[2] for name in facts.ANSWERS)
_SKIPPING = frozenset({"skipTest", *(name.rpartition(".")[2] for name in facts.SKIPS)})


class Branches(Expressions):
    def s_If(self, node: ast.If) -> None:
        whole, is_not = node.test, False
        while isinstance(whole, ast.UnaryOp) and isinstance(whole.op, ast.Not):
            whole, is_not = whole.operand, not is_not
        if self.is_function_itself(whole) and gives_up(node.body if is_not else node.orelse):
            mask = self.frame.mask
            self.fork(node, 0 if is_not else mask, mask if is_not else 0, NO_TESTS, [])
            return
        if self.starts_groups and isinstance(node.test, ast.Compare) and starts_group(node.body):
            asked = answered(node.test, one(self.eval(node.test.left), self.frame.mask))
            if asked is not None:
                self.ranked.add(asked[0])
        self.note_choice(node)
        yes, no, tests = self.cond(node.test)
        if tests:
            yes, no = self._for_tests(node, yes, no)
            says = all(map(only_says, node.body))
            self.told_only.update((test, says and self.told_only.get(test, True)) for test in tests)
        refined = self.where_it_fails(node.test, no) if tests else []
        self.fork(node, yes, no, tests, refined)

    def is_function_itself(self, node: ast.expr) -> bool:
        """`torch.cuda.is_available` without its call, which is true everywhere: what a choice by it
        means is a question, but a refusal by it turns nobody away."""
        if not isinstance(node, ast.Attribute | ast.Name) or last_name(node) not in _QUESTIONS:
            return False
        named = one(self.named_only(node), ALL)
        return named.kind == NAME and str(named.v) in facts.ANSWERS

    def _for_tests(self, node: ast.If, yes: int, no: int) -> tuple[int, int]:
        """A test that skips itself where there is no CUDA is about CUDA, as one with a mark is that
        says so: no port comes to what follows."""
        if self._skips(node.body) and not no & MAC:
            return yes | no & PORTED, no & ~PORTED
        if self._skips(node.orelse) and not yes & MAC:
            return yes & ~PORTED, no | yes & PORTED
        return yes, no

    def _skips(self, arm: list[ast.stmt]) -> bool:
        last = arm[-1] if arm else None
        raised = last.exc if isinstance(last, ast.Raise) else None
        skip = last.value if isinstance(last, ast.Expr) else raised
        skip = skip.func if isinstance(skip, ast.Call) else raised
        if skip is None or last_name(skip) not in _SKIPPING:
            return False
        if isinstance(skip, ast.Attribute) and skip.attr == "skipTest":
            return True
        atom = one(self.eval(skip), self.frame.mask) if self.key(skip) is not None else UNK
        return atom.kind == NAME and atom.v in facts.SKIPS

    def fork(
        self, node: ast.If, yes: int, no: int, tests: Tests, refined: list[tuple[str, Value]]
    ) -> None:
        """`refined`: what names stand for where the test fails."""
        frame = self.frame
        mask, why, env, arm = frame.mask, frame.tests, frame.env, frame.arm
        gate, refused, inside = frame.gate, frame.refused, frame.inside
        parts = yes != mask or no != mask
        if parts and not arm:
            frame.arm = id(node)
        returned, fork = len(frame.returns), len(self.log)
        held = self.where_it_holds(node.test, yes) if tests else []
        ends: list[tuple[int, Env]] = []
        owned = bool(mask & MACS)  # Whether all arms that a Mac takes end in what is CUDA's own.
        spans: list[tuple[int, int, int]] = []
        frame.inside = (*inside, node.test)
        asked, frame.asked = frame.asked, frame.asked or self.asks_for_cuda(tests)
        built, frame.built = frame.built, frame.built | (tests & self.build_tests)
        for worlds, branch in ((yes, node.body), (no, node.orelse)):
            frame.mask, frame.refused = worlds, frame.refused & ~worlds
            frame.env = dict(env) if worlds and branch else env
            if refined and branch is node.orelse:
                self.refine(refined)
            if held and branch is node.body:
                self.refine(held)
            away = sent_away(mask, worlds)
            frame.tests = why | tests if away else why
            frame.gate = node.test if away and mask & ~worlds & MACS else gate
            mark, before = len(self.log), frame.refused
            own = bool(worlds) and self._branch(branch, worlds, fork)
            owned = owned and (own or not worlds & MACS)
            spans.append((mark, len(self.log), frame.refused & ~before))
            ends.append((frame.mask, frame.env))
        (m1, e1), (m2, e2) = ends
        frame.mask = m1 | m2
        frame.refused = (refused | spans[0][2] | spans[1][2]) & ~frame.mask
        for event in self.log[spans[0][0] : spans[0][1]]:
            event.refused |= spans[1][2] & ~yes  # As if the error had come first.
        away = sent_away(mask, frame.mask)
        frame.tests = why | tests if away else why
        frame.gate = node.test if mask & ~frame.mask & MACS else gate
        frame.inside, frame.built, frame.asked = inside, built, asked
        insists = parts and not frame.caught and self._insists(node, mask, tests, returned)
        if parts and not frame.caught and not insists:
            self._refused(node, mask, tests, returned)
        frame.arm = arm
        if insists:
            self.owned(ALL & ~MACS)
        elif owned:
            frame.mask = mask
            self.owned(m1 | m2)
        frame.env = self.merge(env, m1, e1, m2, e2, tests if parts else NO_TESTS)
        ended = yes & MACS and not m1 & MACS and m1 & NVIDIA
        if ended and m2 & MACS and starts_group(node.body):
            self._settle(node.test, holds=False)

    def _settle(self, test: ast.expr, *, holds: bool) -> None:
        """A switch by which processes join a group of NCCL's is off on a Mac that goes on."""
        while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, holds = test.operand, not holds
        key = self.key(test) if isinstance(test, ast.Name | ast.Attribute) else None
        if key is None:
            return
        recording, self.recording = self.recording, False
        asked = self.eval(test)
        self.recording = recording
        answer = Atom(CONST, holds)
        known = pack([(MACS, answer), *cases_of(asked, ALL & ~MACS)])
        self.refine([(key, known)])

    def _branch(self, branch: list[ast.stmt], worlds: int, fork: int) -> bool:
        """Runs an arm; whether all Macs that take it end in what only CUDA has."""
        frame, mark = self.frame, len(self.log)
        frame.starts.append(mark)
        frame.forks.append(fork)
        own, frame.own = frame.own, False
        self.block(branch)
        frame.starts.pop()
        frame.forks.pop()
        if branch and isinstance(branch[-1], ast.Raise) and not frame.mask:
            # It ends in an error everywhere: nothing is gained by a port of it.
            self.log[mark:] = [event for event in self.log[mark:] if event.passed]
        lost = worlds & MACS and not frame.mask & MACS and frame.mask & NVIDIA
        if worlds & PORTED and not worlds & MAC and lost:
            self.forget(mark, _EFFECTS)  # PORTED cannot come through: CUDA's own
        owned = frame.own and not frame.mask & MACS
        frame.own = own
        return owned

    def _insists(self, node: ast.If, mask: int, tests: Tests, returned: int) -> bool:
        """Whether all Macs end here in an error that asks for NVIDIA's GPU by its name, or for a
        torch that is built with CUDA: no port changes that."""
        frame = self.frame
        through = frame.mask
        for worlds, _ in frame.returns[returned:]:
            through |= worlds
        if through & MAC or not mask & MAC & frame.refused:
            return False
        if tests.isdisjoint(self.cuda_tests) or not tests.isdisjoint(self.device_tests):
            return False
        if not tests.isdisjoint(self.toolkit_tests):
            return True
        return any(asks_for_nvidia(branch) for branch in (node.body, node.orelse))

    def _refused(self, node: ast.If, mask: int, tests: Tests, returned: int) -> None:
        """Tells of Macs that end here in an error, where they would come through once ported. Where
        MPS was asked for, somebody has decided that they end."""
        frame = self.frame
        if (frame.function, frame.arm) in self.asking_mps:
            self.decided |= tests
            return
        through = frame.mask
        for worlds, _ in frame.returns[returned:]:
            through |= worlds
        refused = mask & MAC & frame.refused & ~through
        if refused & mac_of_ported(through) and not _goes_on_elsewhere(node, frame.function):
            self.emit(
                Kind.REFUSED,
                node,
                worlds=mask,
                tests=tests,
                likely=self.was_asked(refused, node.test),
            )

    def was_asked(self, worlds: int, test: ast.expr) -> bool:
        """Whether these worlds are those of users who asked for CUDA: a switch that says so is on
        in all of them, or a condition around speaks of it."""
        for symbol, slot in self.slots.items():
            if not worlds & ~SWITCH[slot] and names_request(str(symbol[1])):
                return True
        return any(
            names_request(word)
            for condition in (*self.frame.inside, test)
            for word in self.words_of(condition)
        )

    def words_of(self, condition: ast.expr) -> Iterator[str]:
        """Names and texts in a condition, but for those of torch."""
        queue: list[ast.AST] = [condition]
        while queue:
            node = queue.pop()
            if isinstance(node, ast.Attribute | ast.Name):
                key = self.key(node)
                value = self.lookup(key.partition(".")[0]) if key is not None else None
                if value is not None and one(value, ALL).kind == NAME:
                    continue
                if value is not None and any(atom.tests for _, atom in cases_of(value)):
                    continue  # An answer of the machine, kept under a name.
                yield node.attr if isinstance(node, ast.Attribute) else node.id
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
            queue += ast.iter_child_nodes(node)

    def merge(self, env: Env, m1: int, e1: Env, m2: int, e2: Env, tests: Tests) -> Env:
        if not m1:
            return e2 if m2 else env
        if not m2 or e1 is e2:
            return e1
        if e1 is env and e2 is env:
            return env
        out = dict(e1)
        get, added = e1.get, 0
        for key in [key for key, v2 in e2.items() if get(key) is not v2]:
            v1, v2 = get(key), e2[key]
            added += v1 is None
            other = v1 if v1 is not None else self._unset(key, e1)
            if other is None:
                out.pop(key, None)
            else:
                met = self.picked(m1, other, m2, v2, tests)
                out[key] = unless_replaced(env.get(key), other, v2, met)
        for key in e1.keys() - e2.keys() if len(e1) + added > len(e2) else ():
            other = self._unset(key, e2)
            if other is None:
                del out[key]
            else:
                out[key] = self.picked(m1, e1[key], m2, other, tests)
        return out

    def _unset(self, key: str, env: Env) -> Atom | None:
        """What a name holds where nothing was bound to it, and an attribute where nothing was
        stored in this function, or (in `env`) not even its object is bound; None: the object itself
        says."""
        holder = key.rpartition(".")[0]
        if not holder or (self.frame.function is None and key.partition(".")[0] not in env):
            return BOT
        owner = self.lookup(holder)
        if owner.__class__ is Atom and owner.kind == NAMESPACE:
            return None
        return Atom(UNKNOWN, symbol=(self.frame.function, key))

    def s_Match(self, node: ast.Match) -> None:
        subject = self.eval(node.subject)
        frame = self.frame
        env, why = frame.env, frame.tests
        rest = frame.mask
        done, end = 0, env
        for case in node.cases:
            frame.mask, frame.env, frame.tests = rest, dict(env), why
            taken, left, tests = self._pattern(case.pattern, subject, rest)
            frame.mask = taken
            if case.guard is not None and taken:
                yes, no, more = self.cond(case.guard)
                taken, left, tests = yes, left | no, tests | more
                frame.mask = taken
            if sent_away(rest, taken):
                frame.tests = why | tests
            if taken:
                self.block(case.body)
                end = self.merge(env, done, end, frame.mask, frame.env, tests)
                done |= frame.mask
            rest = left
        frame.tests = why
        frame.env = self.merge(env, done, end, rest, env, NO_TESTS)
        frame.mask = done | rest

    def _pattern(self, pattern: ast.pattern, subject: Value, rest: int) -> tuple[int, int, Tests]:
        """The worlds in which a pattern may match, those in which it may not."""
        if isinstance(pattern, ast.MatchAs) and pattern.pattern is None:
            if pattern.name is not None:
                self.frame.env[pattern.name] = subject
            return rest, 0, NO_TESTS
        if isinstance(pattern, ast.MatchOr):
            yes, left, tests = 0, rest, NO_TESTS
            for item in pattern.patterns:
                here, left, found = self._pattern(item, subject, left)
                yes |= here
                tests |= found
            return yes, left, tests
        if isinstance(pattern, ast.MatchValue):
            value = self.eval(pattern.value)
            yes = no = 0
            for worlds, a in cases_of(subject, rest):
                for both, b in cases_of(value, worlds):
                    for part, said in equal(a, b, both):
                        yes |= part if said is not False else 0
                        no |= part if said is not True else 0
            if one(value, ALL).kind == DEVICE:
                self.device_tests.add(pattern.value)
            return yes, no, frozenset((pattern.value,))
        if isinstance(pattern, ast.MatchSingleton):
            yes = no = 0
            tests = NO_TESTS
            for worlds, a in cases_of(subject, rest):
                for part, said in equal(a, Atom(CONST, pattern.value), worlds):
                    yes |= part if said is not False else 0
                    no |= part if said is not True else 0
                tests |= a.tests
            return yes, no, tests
        return rest, rest, NO_TESTS


def _goes_on_elsewhere(refusing: ast.If, function: Function | None) -> bool:
    """Whether the same function asks the same again below and answers then: `if chosen == "flash":
    if not HAS_FLASH: raise`, and `if not HAS_FLASH: return False`. An error for who chose is no
    refusal for all."""
    side = next((it for it in ("body", "orelse") if _ends_in(refusing, it, ast.Raise)), None)
    if function is None or side is None:
        return False
    given: dict[str, list[ast.expr]] = {}
    others: list[ast.If] = []
    for node in of_kinds(function.node, frozenset({ast.Assign, ast.If})):
        if isinstance(node, ast.If):
            if node.lineno > refusing.lineno and _ends_in(node, side, ast.Return):
                others.append(node)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            given.setdefault(node.targets[0].id, []).append(node.value)

    def asked(test: ast.expr) -> str:
        """What a test asks, also where it has a name before: `is_absent = not HAS_FLASH`."""
        values = given.get(test.id, []) if isinstance(test, ast.Name) else []
        return ast.unparse(values[0] if len(values) == 1 else test)

    return any(asked(other.test) == asked(refusing.test) for other in others)


def _ends_in(branch: ast.If, side: str, kind: type[ast.stmt]) -> bool:
    """Whether an arm of `branch` ends in a statement of a kind; a return gives something."""
    arm = getattr(branch, side)
    if not arm or not isinstance(arm[-1], kind):
        return False
    return not isinstance(arm[-1], ast.Return) or arm[-1].value is not None
