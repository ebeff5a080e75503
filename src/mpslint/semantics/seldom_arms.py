"""The arm of a test that some turns of a loop alone come to, where the other arm is what most do.

`if i in (1, 10, 100):`, `if log.isEnabledFor(logging.DEBUG):`, `if args.debug:`, `case 0:` of
`match i % 10:`, and what is done again only after a while: `if time.time() - last > 10:`, which
sets `last` anew.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator, Sequence
from typing import TYPE_CHECKING

from mpslint.facts.priors import matches
from mpslint.semantics.value_syntax import last_name

if TYPE_CHECKING:
    from mpslint.semantics.flow import Flow

CLOCKS = frozenset({"time", "perf_counter", "monotonic", "process_time", "default_timer"})
_DEBUG = 10
"""`logging.DEBUG` (docs.python.org/3/library/logging.html): what is off unless somebody asks."""
_ORDERED = (ast.Gt, ast.GtE, ast.Lt, ast.LtE)


def seldom_arm(test: ast.expr, counters: Container[str]) -> bool | None:
    """Which arm of a test a few turns alone come to: the first (True) or the second (False); None
    where neither is known for it."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        arm = seldom_arm(test.operand, counters)
        return None if arm is None else not arm
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return True if any(seldom_arm(part, counters) for part in test.values) else None
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        if isinstance(test.ops[0], ast.In | ast.NotIn) and counts(test.left, counters):
            return isinstance(test.ops[0], ast.In)
    return True if _asks_for_debugging(test) else None


def counts(node: ast.expr, counters: Container[str]) -> bool:
    """Whether a number is that of the turn, or reckoned from it alone: `i + 1`, `i % 10`."""
    if isinstance(node, ast.Name):
        return node.id in counters
    if isinstance(node, ast.BinOp):
        parts = [p for p in (node.left, node.right) if not isinstance(p, ast.Constant)]
        return bool(parts) and all(counts(part, counters) for part in parts)
    return False


def is_seldom_case(case: ast.match_case, subject: ast.expr, counters: Container[str]) -> bool:
    """`case 0:` of `match i % 10:`, and `case n if n % 10 == 0:` of `match i:`."""
    if not counts(subject, counters):
        return False
    return case.guard is not None or _is_of_numbers(case.pattern)


def _is_of_numbers(pattern: ast.pattern) -> bool:
    if isinstance(pattern, ast.MatchOr):
        return all(map(_is_of_numbers, pattern.patterns))
    return isinstance(pattern, ast.MatchValue)


def waits_a_while(test: ast.expr, body: Sequence[ast.AST], flow: Flow) -> bool:
    """Whether a test compares what the clock says with a time that its arm sets anew: it does not
    hold again before that time has passed."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], _ORDERED):
        return False
    asked = [item for part in _behind(test, flow) for item in ast.walk(part)]
    if not any(isinstance(item, ast.Call) and last_name(item.func) in CLOCKS for item in asked):
        return False
    places = {
        ast.unparse(item)
        for item in asked
        if isinstance(item, ast.Name | ast.Attribute | ast.Subscript)
    }
    return any(
        ast.unparse(target) in places
        for statement in body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
    )


def _behind(test: ast.expr, flow: Flow) -> Iterator[ast.expr]:
    """A test, and what the names in it were given."""
    yield test
    for item in ast.walk(test):
        if isinstance(item, ast.Name):
            for binding in flow.reaching(item):
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
