"""Tests that hold at some turns of a loop only: by the number of the turn, by a switch for what is
done now and then."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.facts.priors import matches
from mpslint.semantics.loops.intervals import (
    arm_of_most_turns,
    holds_each_turn,
    turns_few_times,
)
from mpslint.semantics.loops.loop_tests import (
    answers,
    arm_of_one_turn,
    at_first,
    counted_by,
    deciding_names,
)
from mpslint.semantics.loops.seldom_arms import Elapsed, counts, is_seldom_case, seldom_arm
from mpslint.semantics.names.private_calls import given_by_all
from mpslint.semantics.syntax.expressions import names_in
from mpslint.semantics.syntax.index import LOOPS

if TYPE_CHECKING:
    from mpslint.semantics.names.flow import Flow
    from mpslint.semantics.names.names import Names
    from mpslint.semantics.syntax.index import Index

_NAMES_FOLLOWED = 4
"""`every = step % 50`, `log = every == 0`, and two functions that hand it on to the test: more is
not seen in real code."""


_TAKING_OUT = frozenset({"clear", "pop", "popitem"})
"""Methods of a table that leave less in it."""


class RareTests:
    def __init__(self, index: Index, names: Names, flow: Flow) -> None:
        self._index = index
        self._names = names
        self._elapsed = Elapsed(names, flow)
        self._flow = flow
        self._known: dict[tuple[ast.expr, int], bool] = {}
        self._counted: dict[ast.AST, frozenset[str]] = {}

    def holds(self, test: ast.expr, depth: int = _NAMES_FOLLOWED) -> bool:
        """Whether `test` holds at some steps only: by what stands in it, or in what the names that
        decide it were given (`is_log_step = step % 50 == 0`)."""
        known = self._known.get((test, depth))
        if known is None:
            known = self._known[test, depth] = self._asks_of_turn(test, depth)
        return known

    def _asks_of_turn(self, test: ast.expr, depth: int) -> bool:
        if depth and any(
            binding.kind == "assign"
            and answers(binding.value)
            and self.holds(binding.value, depth - 1)  # type: ignore[arg-type]
            for name in deciding_names(test)
            for binding in self._flow.reaching(name)
        ):
            return True
        if depth and any(self._is_rarely_true(name, depth) for name in _needed(test)):
            return True
        counters = self._counters(test)
        for item in ast.walk(test):
            if isinstance(item, ast.Call):
                # `if divisible_by(step, every)`: what is asked of the number of the turn.
                if any(counts(argument, counters) for argument in item.args):
                    return True
            if isinstance(item, ast.expr) and at_first(item, counters):
                return True
            if isinstance(item, ast.BinOp) and isinstance(item.op, ast.Mod):
                if not holds_each_turn(self._index, item):
                    return True
            if isinstance(item, ast.Name | ast.Attribute):
                word = item.id if isinstance(item, ast.Name) else item.attr
                if matches("rare-switches", word):
                    return True
            if isinstance(item, ast.Compare) and isinstance(item.ops[0], ast.Eq | ast.In):
                sides = [item.left, *item.comparators]
                if any(isinstance(s, ast.Name) and matches("step-counters", s.id) for s in sides):
                    return True
        return False

    def _is_rarely_true(self, name: ast.Name, depth: int) -> bool:
        """Whether what a name holds asks of the turn: `log = i == last`; or what all give who call
        the function that it is a parameter of: `if log:` of `self._step(batch, i == last)`."""
        bindings = self._flow.reaching(name)
        if len(bindings) != 1:
            return False
        node, value = bindings[0].node, bindings[0].value
        given = [value] if bindings[0].kind == "assign" and answers(value) else []
        if isinstance(node, ast.arg):
            given = [*given_by_all(self._index, self._names, node)]
        return bool(given) and all(
            self.few_turns_pass(test) or self._needs_one_turn(test) or self.holds(test, depth - 1)
            for test in given
            if test is not None
        )

    def _needs_one_turn(self, test: ast.expr) -> bool:
        """`log and i == last`"""
        return self._arm_of_one_turn(test, self._counters(test, few=False)) is True

    def of_one_turn(self, branch: ast.If | ast.IfExp, child: ast.AST) -> bool:
        """Whether `child` stands in the arm of `branch` that one turn alone comes to; the other
        arm is what all the rest do: `if i == 0: seen = x.cpu()`, `else: seen = cat(seen, x.cpu())`.
        """
        which = self._arm_of_one_turn(branch.test, self._counters(branch.test, few=False))
        if which is None:
            which = self._arm_that_fills(branch)
        if which is None:
            return False
        body = branch.body if isinstance(branch.body, list) else [branch.body]
        return (child in body) is which

    def _arm_that_fills(self, branch: ast.If | ast.IfExp) -> bool | None:
        """The arm of `if "loss" not in sums: sums["loss"] = ...` that the first turn alone comes
        to, where the table was there before the loop (True: the first); None of others."""
        test = branch.test
        if not isinstance(branch, ast.If) or not isinstance(test, ast.Compare):
            return None
        key, table = test.left, test.comparators[0]
        if not isinstance(test.ops[0], ast.In | ast.NotIn) or not isinstance(key, ast.Constant):
            return None
        first = isinstance(test.ops[0], ast.NotIn)
        arm = branch.body if first else branch.orelse
        if not isinstance(table, ast.Name) or not any(
            isinstance(statement, ast.Assign) and _stores(statement, table.id, key.value)
            for statement in arm
        ):
            return None
        loop = next((x for x in self._index.ancestors(branch) if isinstance(x, LOOPS)), None)
        if loop is None or any(
            self._index.within(binding.node, loop) for binding in self._flow.reaching(table)
        ):
            return None
        return None if self._is_emptied(table.id, loop) else first

    def _is_emptied(self, table: str, loop: ast.AST) -> bool:
        """Whether a loop takes something out of a table: `sums.clear()`, `del sums["loss"]`"""
        for use in self._index.names.get(table, ()):
            parent = self._index.parents[use]
            takes = isinstance(parent, ast.Attribute) and parent.attr in _TAKING_OUT
            deletes = isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Del)
            if (takes or deletes) and self._index.within(use, loop):
                return True
        return False

    def of_few_turns(self, parent: ast.AST, child: ast.AST) -> bool:
        """Whether `child` stands in an arm of `parent` that a few turns alone come to."""
        if isinstance(parent, ast.match_case):
            subject = self._index.parents[parent].subject  # type: ignore[attr-defined]
            counters = self._counters(subject, few=False)
            if child not in parent.body:
                return False
            return is_seldom_case(parent, subject, counters) or (
                parent.guard is not None and counts(subject, counters) and self._passes_few(parent)
            )
        if not isinstance(parent, ast.If | ast.IfExp):
            return False
        body = parent.body if isinstance(parent.body, list) else [parent.body]
        arm = seldom_arm(parent.test, self._counters(parent.test, few=False), self._flow)
        if arm is not None and (child in body) is arm:
            return True
        return child in body and self._elapsed.waits_a_while(parent.test, body)

    def _passes_few(self, case: ast.match_case) -> bool:
        """`case n if n % 10 == 0:` of `match i:`"""
        guard = case.guard
        assert guard is not None
        counters = self._counters(guard, few=False)
        if isinstance(case.pattern, ast.MatchAs) and case.pattern.name is not None:
            counters.add(case.pattern.name)
        arms = (
            seldom_arm(guard, counters, self._flow),
            self._arm_of_one_turn(guard, counters),
            at_first(guard, counters),
        )
        return True in arms or self.holds(guard)

    def _arm_of_one_turn(self, test: ast.expr, counters: set[str]) -> bool | None:
        """As `arm_of_one_turn`; None where the loop itself changes the number that is compared with
        that of the turn: `if i == self.next: self.next += 1`."""
        arm = arm_of_one_turn(test, counters)
        if arm is None:
            arm = self._arm_of_a_counted_turn(test, counters)
        return None if arm is not None and self._is_set_by_turns(test) else arm

    def _arm_of_a_counted_turn(self, test: ast.expr, counters: set[str]) -> bool | None:
        """The arm of `if i + 1 == count:` that one turn alone comes to, where the loop sets none of
        the names that it compares its number with."""
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            return None
        if not isinstance(test.ops[0], ast.Eq | ast.NotEq):
            return None
        turn, number = test.left, test.comparators[0]
        if not names_in(turn) & counters:
            turn, number = number, turn
        if not _is_shifted(turn) or not counts(turn, counters) or not _is_shifted(number):
            return None
        loops = [x for x in self._index.ancestors(test) if isinstance(x, LOOPS)]
        around = next((x for x in loops if names_in(turn) & self._counted_by(x)), None)
        for item in ast.walk(number):
            if isinstance(item, ast.Name) and around is not None:
                bindings = self._flow.reaching(item)
                if not bindings or any(self._index.within(x.node, around) for x in bindings):
                    return None
        return isinstance(test.ops[0], ast.Eq)

    def _is_set_by_turns(self, test: ast.expr) -> bool:
        asked = {item.attr for item in ast.walk(test) if isinstance(item, ast.Attribute)}
        stores = [
            item
            for name in asked
            for item in self._index.attributes.get(name, ())
            if not isinstance(item.ctx, ast.Load)
        ]
        if not stores:
            return False
        names = names_in(test)
        return any(
            isinstance(loop, LOOPS)
            and not names.isdisjoint(self._counted_by(loop))
            and any(self._index.within(item, loop) for item in stores)
            for loop in self._index.ancestors(test)
        )

    def of_most_turns(self, branch: ast.If | ast.IfExp, child: ast.AST) -> bool:
        """Whether `child` stands in the arm that most turns come to: `if i % 10 != 0:`"""
        arm = arm_of_most_turns(self._index, branch.test)
        body = branch.body if isinstance(branch.body, list) else [branch.body]
        return arm is not None and (child in body) is arm

    def most_turns_go_on(self, test: ast.expr) -> bool:
        """Whether most turns go on behind a test: `if i % 10 == 0: continue`."""
        return arm_of_most_turns(self._index, test) is False

    def few_turns_pass(self, test: ast.expr) -> bool:
        return seldom_arm(test, self._counters(test, few=False), self._flow) is True

    def keeps_few_turns(self, test: ast.expr) -> bool:
        """Whether a few turns alone go on behind a test: `if i not in steps: continue`."""
        return seldom_arm(test, self._counters(test, few=False), self._flow) is False

    def _counters(self, node: ast.AST, few: bool = True) -> set[str]:
        """Names that hold the number of the turn, in the loops around `node`: `i` of
        `for i in range(n)` and of `for i, x in enumerate(xs)`, or what each turn adds one to; of
        those that turn a `few` times as well (`for part in range(2)`), if they are asked for."""
        found: set[str] = set()
        for parent in self._index.ancestors(node):
            if isinstance(parent, LOOPS):
                if not few and turns_few_times(parent):
                    continue
                found |= self._counted_by(parent)
        return found

    def _counted_by(self, loop: ast.For | ast.AsyncFor | ast.While) -> frozenset[str]:
        if loop not in self._counted:
            self._counted[loop] = counted_by(loop, self._flow)
        return self._counted[loop]


def _stores(statement: ast.Assign, table: str, key: object) -> bool:
    return any(
        isinstance(target, ast.Subscript)
        and isinstance(target.value, ast.Name)
        and target.value.id == table
        and isinstance(target.slice, ast.Constant)
        and target.slice.value == key
        for target in statement.targets
    )


def _is_shifted(node: ast.expr) -> bool:
    """`i`, `i + 1`, `len(xs) - 1`: each turn has another one."""
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        if not isinstance(node.right, ast.Constant):
            return False
        node = node.left
    return isinstance(node, ast.Name | ast.Attribute | ast.Constant)


def _needed(test: ast.expr) -> Iterator[ast.Name]:
    """The names that have to be true for `test` to hold."""
    if isinstance(test, ast.Name):
        yield test
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for value in test.values:
            yield from _needed(value)
