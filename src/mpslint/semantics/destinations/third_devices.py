"""Tests for one device after the other that raise, or leave something undone, for one more."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from mpslint.records import NamedTuple
from mpslint.semantics.destinations.device_names import (
    Subject,
    backend_of,
    constants,
    is_closed,
    may_be_new,
    subject_of,
)
from mpslint.semantics.names.flow import leaves
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


class _Asked(NamedTuple):
    """What a test asks for: whether something is one of these devices."""

    subject: Subject
    names: tuple[object, ...]
    is_negated: bool


def unanswered(context: Context) -> Iterator[ast.AST]:
    """Statements that raise for a device that no test before them names, and tests without an arm
    for it where what they give is used."""
    for statement in context.index.of(ast.Assert):
        asked = _asked(context, statement.test)
        if asked is not None and not asked.is_negated and is_closed(asked.names):
            if may_be_new(context, asked.subject):
                yield statement
        elif isinstance(statement.test, ast.Constant) and not statement.test.value:
            yield from _third(context, statement)
    for raised in context.index.of(ast.Raise):
        yield from _third(context, raised)
    for match in context.index.of(ast.Match):
        yield from _unmatched(context, match)
    for chain in context.index.of(ast.If):
        parent = context.index.parents.get(chain)
        if not (isinstance(parent, ast.If) and parent.orelse == [chain]):
            yield from _unbound(context, chain)


def _asked(context: Context, test: ast.expr) -> _Asked | None:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        found = _asked(context, test.operand)
        return found._replace(is_negated=not found.is_negated) if found is not None else None
    if isinstance(test, ast.BoolOp):
        found_all = [_asked(context, value) for value in test.values]
        first = found_all[0]
        if first is None or any(
            one is None
            or one.subject.text != first.subject.text
            or one.is_negated != isinstance(test.op, ast.And)
            for one in found_all
        ):
            return None
        names = [name for one in found_all if one is not None for name in one.names]
        return first._replace(names=tuple(names))
    if isinstance(test, ast.Attribute) and test.attr == "is_cuda":
        return _Asked(subject_of(_device_of(test.value)), ("cuda",), is_negated=False)
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute):
        if test.func.attr == "startswith" and len(test.args) == 1:
            name = _name(test.args[0])
            if name is not None:
                return _Asked(subject_of(test.func.value), (name,), is_negated=False)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    return _compared(context, test)


def _compared(context: Context, test: ast.Compare) -> _Asked | None:
    left, operator, right = test.left, test.ops[0], test.comparators[0]
    is_negated = isinstance(operator, ast.NotEq | ast.NotIn | ast.IsNot)
    if isinstance(operator, ast.Eq | ast.NotEq | ast.Is | ast.IsNot):
        if _name(left) is not None:
            left, right = right, left
        name = _name(right)
        return _Asked(subject_of(left), (name,), is_negated) if name is not None else None
    if not isinstance(operator, ast.In | ast.NotIn):
        return None
    name = _name(left)
    if name is not None:  # `"cuda" in str(device)`
        held = constants(right)
        return _Asked(subject_of(right), (name,), is_negated) if held is None else None
    held = constants(right)
    if held is None and isinstance(right, ast.Name):
        bindings = context.names.bindings(right.id, right)
        held = constants(bindings[0].value) if len(bindings) == 1 else None
    return _Asked(subject_of(left), tuple(held), is_negated) if held else None


def _device_of(tensor: ast.expr) -> ast.expr:
    return ast.Attribute(tensor, "device", ast.Load())


def _name(node: ast.expr) -> str | None:
    """The type of a device that is written out, be it as `torch.device("cuda")`."""
    if isinstance(node, ast.Call) and len(node.args) == 1 and isinstance(node.func, ast.Attribute):
        node = node.args[0] if node.func.attr == "device" else node
    return backend_of(node.value) if isinstance(node, ast.Constant) else None


def _third(context: Context, raised: ast.stmt) -> Iterator[ast.AST]:
    """A `raise` where all tests before it said that the device is none of theirs."""
    found: dict[str, list[object]] = {}
    subjects: dict[str, Subject] = {}

    def is_none_of(asked: _Asked) -> None:
        found.setdefault(asked.subject.text, []).extend(asked.names)
        known = subjects.get(asked.subject.text)
        if known is None or asked.subject.is_typed:
            subjects[asked.subject.text] = asked.subject

    current: ast.AST = raised
    while True:
        for before in _before(context, current):
            for arm, asked in _arms(context, before):
                if asked is not None and not asked.is_negated and leaves(arm):
                    is_none_of(asked)
            if isinstance(before, ast.Match) and all(leaves(case.body) for case in before.cases):
                names = _cases(before)
                if names is not None:
                    is_none_of(_Asked(subject_of(before.subject), tuple(names), is_negated=False))
        parent = context.index.parents.get(current)
        if parent is None or isinstance(parent, (*FUNCTIONS, ast.Module)):
            break
        if isinstance(parent, ast.If):
            asked = _asked(context, parent.test)
            in_else = current in parent.orelse
            if asked is not None and asked.is_negated != in_else:
                is_none_of(asked)
        current = parent
    for text, names in found.items():
        if is_closed(names) and may_be_new(context, subjects[text]):
            yield raised
            return


def _before(context: Context, statement: ast.AST) -> Sequence[ast.stmt]:
    place = context.index.place(statement)
    return place[0][: place[1]] if place is not None else ()


def _arms(
    context: Context, statement: ast.stmt
) -> Iterator[tuple[Sequence[ast.stmt], _Asked | None]]:
    while isinstance(statement, ast.If):
        yield statement.body, _asked(context, statement.test)
        if len(statement.orelse) != 1:
            return
        statement = statement.orelse[0]


def _cases(match: ast.Match) -> list[object] | None:
    """What the cases of a `match` name, but for one that takes all; None: something else."""
    found: list[object] = []
    for case in match.cases:
        patterns = (
            case.pattern.patterns if isinstance(case.pattern, ast.MatchOr) else [case.pattern]
        )
        for pattern in patterns:
            if isinstance(pattern, ast.MatchValue) and isinstance(pattern.value, ast.Constant):
                found.append(pattern.value.value)
            elif not _takes_all(pattern):
                return None
    return found


def _takes_all(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchAs) and pattern.pattern is None


def _unmatched(context: Context, match: ast.Match) -> Iterator[ast.AST]:
    names = _cases(match)
    last = match.cases[-1]
    if names is None or not is_closed(names) or not _takes_all(last.pattern):
        return
    if isinstance(last.body[-1], ast.Raise) and may_be_new(context, subject_of(match.subject)):
        yield last.body[-1]


def _unbound(context: Context, chain: ast.If) -> Iterator[ast.AST]:
    """`if` and `elif` without `else` that alone bind a name, or end a function that gives
    something back."""
    arms = [*_arms(context, chain)]
    last = chain
    while len(last.orelse) == 1 and isinstance(last.orelse[0], ast.If):
        last = last.orelse[0]
    function = context.index.function(chain)
    if last.orelse or not all(asked is not None and not asked.is_negated for _, asked in arms):
        return
    all_asked = [asked for _, asked in arms if asked is not None]
    gives = function is not None and not _may_be_none(function.returns)
    if (
        function is not None
        and gives
        and function.body[-1] is chain
        and all(_gives(arm) for arm, _ in arms)
    ):
        for statement in function.body[:-1]:
            all_asked += [
                asked
                for arm, asked in _arms(context, statement)
                if asked is not None and not asked.is_negated and _gives(arm)
            ]
        is_left = True
    else:
        is_left = len(arms) > 1 and _binds_alone(context, function, [arm for arm, _ in arms])
    names = [name for one in all_asked for name in one.names]
    if is_left and is_closed(names) and len({one.subject.text for one in all_asked}) == 1:
        if may_be_new(context, all_asked[-1].subject):
            yield chain


def _may_be_none(annotation: ast.expr | None) -> bool:
    """Whether a function says of itself that it may give nothing back."""
    return annotation is not None and any(
        (isinstance(one, ast.Constant) and one.value is None) or last_name(one) == "Optional"
        for one in ast.walk(annotation)
    )


def _gives(body: Sequence[ast.stmt]) -> bool:
    """Whether an arm ends in a `return` of something."""
    last = body[-1]
    return isinstance(last, ast.Return) and not (
        last.value is None or (isinstance(last.value, ast.Constant) and last.value.value is None)
    )


def _binds_alone(
    context: Context, function: FunctionNode | None, arms: Sequence[Sequence[ast.stmt]]
) -> bool:
    """Whether each arm binds a name that nothing else binds, and that is used."""
    each = [
        {
            target.id
            for statement in arm
            if isinstance(statement, ast.Assign)
            for target in statement.targets
            if isinstance(target, ast.Name)
        }
        for arm in arms
    ]
    for name in set.intersection(*each):
        uses = [
            use
            for use in context.index.names.get(name, ())
            if context.index.function(use) is function
        ]
        stores = [use for use in uses if isinstance(use.ctx, ast.Store)]
        inside = [
            use
            for use in stores
            if any(context.index.within(use, one) for arm in arms for one in arm)
        ]
        if len(inside) == len(stores) < len(uses):
            if function is None or name not in {
                one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)
            }:
                return True
    return False
