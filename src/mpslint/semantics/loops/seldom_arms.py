"""The arm of a test that some turns of a loop alone come to, where the other arm is what most do.

`if i in (1, 10, 100):`, `if log.isEnabledFor(logging.DEBUG):`, `if args.debug:`, `case 0:` of
`match i % 10:`, and what is done again only after a while: `if time.time() - last > 10:`, which
sets `last` anew.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator, Sequence
from typing import TYPE_CHECKING

from mpslint.facts.clocks import CLOCKS
from mpslint.facts.priors import matches
from mpslint.semantics.syntax.expressions import last_name

if TYPE_CHECKING:
    from mpslint.semantics.names.flow import Flow
    from mpslint.semantics.names.names import Names

_DEBUG = 10
"""`logging.DEBUG` (docs.python.org/3/library/logging.html): what is off unless somebody asks."""
FEW = 100
"""Above it a number of turns is a phase of a training run, whose waits are felt."""
_COLLECTIONS = frozenset({"list", "set", "tuple", "frozenset", "sorted"})
_STEPS = 6
"""So many expressions within each other are followed."""


def seldom_arm(test: ast.expr, counters: Container[str], flow: Flow) -> bool | None:
    """Which arm of a test a few turns alone come to: the first (True) or the second (False); None
    where neither is known for it."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        arm = seldom_arm(test.operand, counters, flow)
        return None if arm is None else not arm
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return True if any(seldom_arm(part, counters, flow) for part in test.values) else None
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        if isinstance(test.ops[0], ast.In | ast.NotIn) and counts(test.left, counters):
            few = _are_few(test.comparators[0], flow)
            return isinstance(test.ops[0], ast.In) if few else None
    return True if _asks_for_debugging(test) else None


def _are_few(turns: ast.expr, flow: Flow, depth: int = _STEPS) -> bool:
    """Whether turns that are listed are few of all: not a stretch of them (`range(1, 1000)`)."""
    if isinstance(turns, ast.Name):
        made = [item.value for item in flow.reaching(turns) if item.kind == "assign"]
        turns = made[0] if len(made) == 1 and made[0] is not None else turns
    if not isinstance(turns, ast.Call) or not isinstance(turns.func, ast.Name) or not turns.args:
        return True
    if turns.func.id in _COLLECTIONS:
        return not depth or _are_few(turns.args[0], flow, depth - 1)
    if turns.func.id != "range":
        return True
    numbers = [item.value if isinstance(item, ast.Constant) else None for item in turns.args]
    first, last, step = (0, *numbers, 1) if len(numbers) == 1 else (*numbers, 1)[:3]
    if step != 1:
        return True
    known = isinstance(first, int) and isinstance(last, int)
    return known and last - first <= FEW  # type: ignore[operator]


def counts(node: ast.expr, counters: Container[str]) -> bool:
    """Whether a number is that of the turn, or reckoned from it alone: `i + 1`, `i % 10`."""
    if isinstance(node, ast.Name):
        return node.id in counters
    if isinstance(node, ast.BinOp):
        parts = [p for p in (node.left, node.right) if not isinstance(p, ast.Constant)]
        return bool(parts) and all(counts(part, counters) for part in parts)
    return False


def is_seldom_case(case: ast.match_case, subject: ast.expr, counters: Container[str]) -> bool:
    """`case 0:` of `match i % 10:`, whatever its guard asks."""
    return counts(subject, counters) and _is_of_numbers(case.pattern)


def _is_of_numbers(pattern: ast.pattern) -> bool:
    if isinstance(pattern, ast.MatchOr):
        return all(map(_is_of_numbers, pattern.patterns))
    return isinstance(pattern, ast.MatchValue)


class Elapsed:
    """What the clocks of a file say in its tests."""

    def __init__(self, names: Names, flow: Flow) -> None:
        self._names = names
        self._flow = flow

    def waits_a_while(self, test: ast.expr, body: Sequence[ast.AST]) -> bool:
        """Whether a test asks that the clock is past a time, which its arm then sets anew: it does
        not hold again before that time has passed."""
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            return False
        later, earlier = test.left, test.comparators[0]
        if isinstance(test.ops[0], ast.Lt | ast.LtE):
            later, earlier = earlier, later
        elif not isinstance(test.ops[0], ast.Gt | ast.GtE):
            return False
        anew = {
            ast.unparse(target)
            for statement in body
            if isinstance(statement, ast.Assign) and self._sign(statement.value, frozenset()) > 0
            for target in statement.targets
        }
        sides = self._sign(later, anew), self._sign(earlier, anew)
        if not (sides[0] > 0 or sides[1] < 0):
            return False
        return any(
            isinstance(item, ast.Name | ast.Attribute | ast.Subscript) and ast.unparse(item) in anew
            for part in self._behind(test)
            for item in ast.walk(part)
        )

    def _sign(self, node: ast.expr, apart: Container[str], depth: int = _STEPS) -> int:
        """1 where a number grows as time goes by, -1 where it falls, 0 where neither is known.
        What is `apart` does not go by."""
        if not depth:
            return 0
        if isinstance(node, ast.Call):
            if self._names.resolve(node.func) in CLOCKS:
                return 1
            # `(now() - last).total_seconds()`, `int(now() - last)`
            held = node.func.value if isinstance(node.func, ast.Attribute) else None
            given = held if held is not None or not node.args else node.args[0]
            return self._sign(given, apart, depth - 1) if given is not None else 0
        if isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) in apart:
            return 0
        if isinstance(node, ast.Attribute):  # `(now() - last).seconds`
            return self._sign(node.value, apart, depth - 1)
        if isinstance(node, ast.BinOp):
            left = self._sign(node.left, apart, depth - 1)
            right = self._sign(node.right, apart, depth - 1)
            return left - right if isinstance(node.op, ast.Sub) else left or right
        if isinstance(node, ast.Name):
            found = self._flow.reaching(node)
            if len(found) == 1 and found[0].kind in ("assign", "walrus") and found[0].value:
                return self._sign(found[0].value, apart, depth - 1)
        return self._sign(node.value, apart, depth) if isinstance(node, ast.NamedExpr) else 0

    def _behind(self, test: ast.expr) -> Iterator[ast.expr]:
        """A test, and what the names in it were given."""
        yield test
        for item in ast.walk(test):
            if isinstance(item, ast.Name):
                for binding in self._flow.reaching(item):
                    if binding.kind == "assign" and binding.value is not None:
                        yield binding.value


def _asks_for_debugging(test: ast.expr) -> bool:
    """`log.isEnabledFor(logging.DEBUG)`, `args.debug > 0`"""
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Gt):
        test = test.left
    if isinstance(test, ast.Name | ast.Attribute):
        return matches("debug-switches", last_name(test) or "")
    if not isinstance(test, ast.Call) or last_name(test.func) != "isEnabledFor" or not test.args:
        return False
    level = test.args[0]
    if isinstance(level, ast.Constant):
        return isinstance(level.value, int) and level.value <= _DEBUG
    return last_name(level) == "DEBUG"
