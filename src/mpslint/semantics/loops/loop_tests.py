"""What tests in loops ask of the turn: its number, its phase, a mode."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.loops.once_flags import is_switched_over
from mpslint.semantics.loops.seldom_arms import FEW
from mpslint.semantics.syntax.expressions import last_name

if TYPE_CHECKING:
    from mpslint.semantics.names.flow import Flow

_REGISTERED = ("register_buffer", "register_parameter", "register_module", "add_module")
_LIGHTNING_COUNTS = ("global_step", "current_epoch")
"""Attributes of `LightningModule` (lightning/pytorch/core/module.py)."""


def counted_up(item: ast.stmt, counters: Container[str]) -> str | None:
    """`step` of `step += 1`, and of `step = i + 1` with `i` among `counters`."""
    target: ast.expr
    if isinstance(item, ast.AugAssign):
        target, sure, one, op = item.target, True, item.value, item.op
    elif isinstance(item, ast.Assign) and isinstance(item.value, ast.BinOp):
        left = item.value.left
        target, one, op = item.targets[0], item.value.right, item.value.op
        sure = isinstance(left, ast.Name) and left.id in counters
    else:
        return None
    sure = sure and isinstance(one, ast.Constant) and one.value == 1 and isinstance(op, ast.Add)
    return target.id if sure and isinstance(target, ast.Name) else None


def counted_by(loop: ast.For | ast.AsyncFor | ast.While, flow: Flow) -> frozenset[str]:
    """Names that hold the number of the turn of `loop`."""
    found: set[str] = set()
    if isinstance(loop, ast.For):
        target = loop.target
        name = _counting(loop.iter, flow)
        if name == "range" and isinstance(target, ast.Name):
            found.add(target.id)
        elif name == "enumerate" and isinstance(target, ast.Tuple):
            found |= {item.id for item in target.elts[:1] if isinstance(item, ast.Name)}
    found |= {name for item in loop.body if (name := counted_up(item, found))}
    return frozenset(found)


def _counting(node: ast.expr, flow: Flow) -> str | None:
    """`range` of `range(n)`, of `trange(n)` and of `tqdm(range(n), ...)`, also by a name."""
    if isinstance(node, ast.Name):
        made = [binding.value for binding in flow.reaching(node)]
        node = made[0] if len(made) == 1 and isinstance(made[0], ast.Call) else node
    name = last_name(node.func) if isinstance(node, ast.Call) else None
    if name == "trange":
        return "range"
    if name in ("range", "enumerate"):
        return name
    if name is not None and isinstance(node, ast.Call) and node.args:
        return _counting(node.args[0], flow)
    return None


def mode(test: ast.expr) -> tuple[str, object] | None:
    """`("to_do", "train")` of `to_do == "train"`."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq):
        return None
    left, right = test.left, test.comparators[0]
    if not isinstance(right, ast.Constant) or not isinstance(right.value, str):
        return None
    return ast.unparse(left), right.value


def answers(value: ast.expr | None) -> bool:
    """A test, or the remainder that one looks at; not what is computed with a step's number."""
    if isinstance(value, ast.BinOp):
        return isinstance(value.op, ast.Mod)
    return isinstance(value, ast.BoolOp | ast.Compare | ast.UnaryOp)


def deciding_names(test: ast.expr) -> Iterator[ast.Name]:
    """The names whose truth, or whose number in a comparison, decides `test`."""
    if isinstance(test, ast.Name):
        yield test
    elif isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from deciding_names(value)
    elif isinstance(test, ast.UnaryOp):
        yield from deciding_names(test.operand)
    elif isinstance(test, ast.Compare):
        for side in (test.left, *test.comparators):
            yield from deciding_names(side)


def warms_up(test: ast.expr) -> bool:
    """`step < warmup_steps`: a phase of the loop, not every turn."""
    return isinstance(test, ast.Compare) and any(
        isinstance(item, ast.Name | ast.Attribute)
        and "warm" in (item.id if isinstance(item, ast.Name) else item.attr).lower()
        for item in ast.walk(test)
    )


def holds_once(test: ast.expr, body: list[ast.stmt]) -> bool:
    """Whether the arm makes its own test false: `if first is None: first = ...`, `if start:` with
    `start = False`, `if not hasattr(self, "seen"): self.seen = ...`, or a flag that a tensor is."""
    unset = _unset(test)
    if unset is not None:
        return any(unset in _set_by(item) for item in body)
    negated = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    asked = test.operand if isinstance(test, ast.UnaryOp) and negated else test
    if isinstance(asked, ast.Compare) and isinstance(asked.ops[0], ast.Is):
        if ast.unparse(asked.comparators[0]) == "None":
            return not negated and _is_given_something(asked, body)
    return is_switched_over(test, body)


def _is_given_something(test: ast.Compare, body: list[ast.stmt]) -> bool:
    """`first = loss` below `if first is None:`."""
    if len(test.ops) > 1 or not isinstance(test.left, ast.Name | ast.Attribute):
        return False
    name = ast.unparse(test.left)
    return any(
        isinstance(item, ast.Assign)
        and any(ast.unparse(target) == name for target in item.targets)
        and not (isinstance(item.value, ast.Constant) and item.value.value is None)
        for item in body
    )


def _unset(test: ast.expr) -> tuple[str, str] | None:
    """`("self", "seen")` of `not hasattr(self, "seen")`."""
    if not isinstance(test, ast.UnaryOp) or not isinstance(test.op, ast.Not):
        return None
    call = test.operand
    if not isinstance(call, ast.Call) or ast.unparse(call.func) != "hasattr":
        return None
    return _named(call.args) if len(call.args) == 2 else None


def _set_by(item: ast.stmt) -> Iterator[tuple[str, str] | None]:
    """The attributes that a statement sets: by assignment, `setattr` or `register_buffer`."""
    if isinstance(item, ast.Assign):
        for target in item.targets:
            if isinstance(target, ast.Attribute):
                yield ast.unparse(target.value), target.attr
    elif isinstance(item, ast.Expr) and isinstance(item.value, ast.Call):
        call = item.value
        if ast.unparse(call.func) == "setattr":
            yield _named(call.args)
        elif isinstance(call.func, ast.Attribute) and call.func.attr in _REGISTERED:
            yield _named([call.func.value, *call.args])


def _named(values: list[ast.expr]) -> tuple[str, str] | None:
    """`("self", "seen")` of `self, "seen", ...`."""
    if len(values) < 2 or not isinstance(values[1], ast.Constant):
        return None
    name = values[1].value
    return (ast.unparse(values[0]), name) if isinstance(name, str) else None


def is_filled(test: ast.expr, outcome: bool, statements: list[ast.stmt]) -> bool:
    """Whether a test comes out so only until these statements have run, which fill what it asks
    for: `self.table is None or len(self.table) < n`, False behind `self.table = build(n)`, and
    `key in self.tables`, True behind `self.tables[key] = ...`. Each part of it asks for that."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        if _unset(test) is None:
            return is_filled(test.operand, not outcome, statements)
    joined = isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or) is outcome
    parts = test.values if isinstance(test, ast.BoolOp) and joined else [test]
    stored = {text for item in statements for node in ast.walk(item) for text in _filled(node)}
    asked = {text for part in parts if (text := _asked_to_be_empty(part, outcome)) in stored}
    return bool(asked) and all(
        any(
            isinstance(item, ast.Attribute | ast.Constant) and _text_of(item) in asked
            for item in ast.walk(part)
        )
        for part in parts
    )


def _filled(node: ast.AST) -> Iterator[str]:
    """The attributes of the object that an assignment gives something, as a whole or a part, and
    the names of its buffers."""
    if isinstance(node, ast.Assign | ast.AnnAssign):
        if isinstance(node.value, ast.Constant) and not node.value.value:
            return  # It is emptied.
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            for one in target.elts if isinstance(target, ast.Tuple) else [target]:
                held = one.value if isinstance(one, ast.Subscript) else one
                if isinstance(held, ast.Attribute):
                    yield _text_of(held)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in _REGISTERED and node.args:
            yield _text_of(node.args[0])


def _text_of(node: ast.expr) -> str:
    """`table` of `self.table` and of `"table"`, by which `hasattr` asks for it."""
    if isinstance(node, ast.Attribute):
        return node.attr if ast.unparse(node.value) == "self" else ast.unparse(node)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _asked_to_be_empty(part: ast.expr, outcome: bool) -> str:
    """The attribute that is empty where this comes out so; "": none."""
    unset = _unset(part)
    if unset is not None:
        return unset[1] if outcome and unset[0] == "self" else ""
    if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not):
        return _asked_to_be_empty(part.operand, not outcome)
    if isinstance(part, ast.Call) and ast.unparse(part.func) == "hasattr" and not outcome:
        named = _named(part.args)
        return named[1] if named is not None and named[0] == "self" else ""
    if isinstance(part, ast.Attribute):
        return "" if outcome else _text_of(part)
    if not isinstance(part, ast.Compare) or len(part.ops) != 1:
        return ""
    (operator,), (other,) = part.ops, part.comparators
    if isinstance(operator, ast.In | ast.NotIn) and isinstance(other, ast.Attribute):
        return _text_of(other) if isinstance(operator, ast.NotIn) is outcome else ""
    if not isinstance(part.left, ast.Attribute) or ast.unparse(other) != "None":
        return ""
    if not isinstance(operator, ast.Is | ast.IsNot):
        return ""
    return _text_of(part.left) if isinstance(operator, ast.Is) is outcome else ""


def at_first(test: ast.expr, counters: Container[str]) -> bool:
    """`step < 5`: the first few turns, where the number of the turn is among `counters`, or is the
    count that Lightning keeps for its modules."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    left, op, right = test.left, test.ops[0], test.comparators[0]
    if isinstance(op, ast.Gt | ast.GtE):
        left, right = right, left
    elif not isinstance(op, ast.Lt | ast.LtE):
        return False
    if not isinstance(right, ast.Constant) or not isinstance(right.value, int):
        return False
    if right.value > FEW:
        return False
    return (isinstance(left, ast.Name) and left.id in counters) or (
        isinstance(left, ast.Attribute) and left.attr in _LIGHTNING_COUNTS
    )


def arm_of_one_turn(test: ast.expr, counters: Container[str]) -> bool | None:
    """Which arm of a test one turn alone comes to: the first (True) of `if i == 0:`, of
    `if i == len(xs) - 1:` and of `if i == int(args.steps):`, also where more is asked beside it,
    the second (False) of `if i > 0:`, `if i != 0:` and `if i:`; None of others."""
    if isinstance(test, ast.BoolOp):
        wanted = isinstance(test.op, ast.And)
        return wanted if any(arm_of_one_turn(x, counters) is wanted for x in test.values) else None
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        arm = arm_of_one_turn(test.operand, counters)
        return None if arm is None else not arm
    if isinstance(test, ast.Name) and test.id in counters:
        return False
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    left, op, right = test.left, test.ops[0], test.comparators[0]
    if not isinstance(left, ast.Name) or left.id not in counters:
        return None
    first = isinstance(right, ast.Constant) and right.value == 0
    if isinstance(op, ast.Gt) and first:
        return False
    if not _is_one_number(right):
        return None
    return isinstance(op, ast.Eq) if isinstance(op, ast.Eq | ast.NotEq) else None


def _is_one_number(node: ast.expr) -> bool:
    """Whether an expression stands for the same number at each turn of a loop that sets none of its
    attributes."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        if isinstance(node.right, ast.Constant) and node.right.value == 1:
            return True
    if isinstance(node, ast.Call):
        return last_name(node.func) == "int" and all(map(_is_one_number, node.args))
    if isinstance(node, ast.BinOp):
        return _is_one_number(node.left) and _is_one_number(node.right)
    return isinstance(node, ast.Attribute)  # A name may hold another number at each turn.
