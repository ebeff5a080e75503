"""Copies to the host in loops that work on what was there before them.

`for i in range(len(points)): save(points[i].cpu().numpy())` waits at each turn for a part of what
could be copied as a whole, and so does a loop over thresholds or classes that selects from the same
tensors at each turn and goes on with NumPy.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from mpslint.facts.priors import find, matches
from mpslint.records import NamedTuple
from mpslint.semantics.loops.loops import Loop, LoopKind
from mpslint.semantics.reads.element_reads import (
    Turning,
    element_of,
    is_given_in_a_step,
    is_handed_over,
    may_be_a_table,
    prints,
    run_by,
)
from mpslint.semantics.syntax.expressions import last_name, names_in
from mpslint.semantics.syntax.node_kinds import of_kinds
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.worlds.machines import MACS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_CALLERS_FOLLOWED = 3
_NAMES_FOLLOWED = 3
"""`hits = (iou > levels[i]) & same`, `x = torch.where(hits)`, `pairs = torch.stack(x, 1)`, and the
copy: more is not seen in real code."""
_NUMBERED = ("range", "len", "enumerate", "arange", "trange")


class PartCopy(NamedTuple):
    call: ast.Call
    loop: Turning
    whole: ast.expr | None
    """The tensor of which each turn copies a part; None: each turn reckons anew."""


def part_copies(context: Context, calls: Iterable[ast.Call]) -> Iterator[PartCopy]:
    """Those of `calls` that copy, at each turn, parts of a tensor that was there before the loop,
    or what the turn reckons from such tensors and from numbers alone."""
    for call in calls:
        assert isinstance(call.func, ast.Attribute)
        after = context.index.parents[call]
        if isinstance(after, ast.Attribute) and after.attr == "item":
            continue  # A number, which is read beside others.
        if call.func.attr == "numpy":
            continue  # Without a copy before it, this is for what is on the host.
        around = context.loops.innermost(call)
        if around is not None and not _is_of_each_turn(context, call, around):
            continue
        part = element_of(context, call.func.value)
        if part is not None:
            whole, loop = part
            if (
                _is_one_tensor(context, whole)
                and not shows(context, loop)
                and context.worlds.reach(call) & MACS
            ):
                yield PartCopy(call, loop, whole)
            continue
        again = _reckoned_again(context, call)
        if again is not None and context.worlds.reach(call) & MACS:
            yield PartCopy(call, again, None)


def shows(context: Context, loop: Turning | ast.While) -> bool:
    """Whether each turn tells of what it copies, or the function draws it: somebody looks on, and
    that takes longer than to wait."""
    function = context.index.function(loop)
    calls = (item for item in ast.walk(loop) if isinstance(item, ast.Call))
    return (
        prints(loop)
        or any(matches("showing-functions", last_name(call.func)) for call in calls)
        or any(
            context.index.function(call) is function
            for name, drawing in context.index.calls.items()
            if (row := find("showing-functions", name)) is not None and row.says == "draws"
            for call in drawing
        )
    )


def _is_one_tensor(context: Context, whole: ast.expr) -> bool:
    """Whether it is no list of tensors: what a model hands back as it is may be one."""
    if isinstance(whole, ast.Call | ast.Attribute):
        return False  # What an object keeps may be a list.
    kind = context.values.of(whole).kind
    if kind is not Kind.TENSOR:
        return kind is Kind.UNKNOWN and (
            is_handed_over(context, whole) or is_given_in_a_step(context, whole)
        )
    return not isinstance(whole, ast.Name) or not may_be_a_table(context, whole)


def _is_of_each_turn(context: Context, call: ast.Call, loop: Loop) -> bool:
    """Whether all turns come to `call`, not the one of a number alone (`if i == 0:`)."""
    if not context.loops.every_step(call, loop):
        return False
    counters = names_in(loop.target) if isinstance(loop, ast.For) else set()
    return not any(
        isinstance(item, ast.Compare)
        and isinstance(item.left, ast.Name)
        and item.left.id in counters
        and isinstance(item.ops[0], ast.Eq)
        for parent in context.index.ancestors(call)
        if isinstance(parent, ast.If) and context.index.within(parent, loop)
        for item in ast.walk(parent.test)
    )


def _reckoned_again(context: Context, call: ast.Call) -> ast.For | None:
    """The loop around a copy whose turns reckon what they copy from what was there before it, in
    code that a loop runs again and again."""
    loop = context.loops.innermost(call)
    if not isinstance(loop, ast.For) or context.loops.kind(loop) is not LoopKind.NONE:
        return None
    if not isinstance(loop.iter, ast.Call) or last_name(loop.iter.func) not in _NUMBERED:
        return None
    if of_kinds(loop, {ast.Break, ast.Return, ast.Await}):
        return None
    assert isinstance(call.func, ast.Attribute)
    if context.values.of(call.func.value).kind is not Kind.TENSOR:
        return None  # It may be one of a list of tensors.
    if not _is_of_before(context, call.func.value, loop, _NAMES_FOLLOWED):
        return None
    if run_by(context, loop, _CALLERS_FOLLOWED) is None or shows(context, loop):
        return None
    return loop


def _is_of_before(context: Context, node: ast.expr, loop: ast.For, names: int) -> bool:
    """Whether torch alone reckons `node` from what was there before the loop and from its
    counter."""
    for item in ast.walk(node):
        if isinstance(item, ast.Call) and not _is_of_torch(context, item):
            return False
        if not isinstance(item, ast.Name) or not isinstance(item.ctx, ast.Load):
            continue
        for binding in context.flow.reaching(item):
            if not context.index.within(binding.node, loop):
                continue
            if binding.node is loop and _is_counter(loop, item.id):
                continue
            if binding.kind != "assign" or binding.value is None or not names:
                return False
            if not _is_of_before(context, binding.value, loop, names - 1):
                return False
    return True


def _is_counter(loop: ast.For, name: str) -> bool:
    """Whether a name of the loop's target is the number of the turn: `i` of `for i, batch in
    enumerate(loader)`, not what is drawn with it."""
    target = loop.target
    if isinstance(loop.iter, ast.Call) and last_name(loop.iter.func) == "enumerate":
        target = target.elts[0] if isinstance(target, ast.Tuple) else target
    return isinstance(target, ast.Name) and target.id == name


def _is_of_torch(context: Context, call: ast.Call) -> bool:
    """A function of torch's, or a method of what may be a tensor."""
    name = context.resolve(call.func)
    if name is not None:
        return name.startswith("torch.")
    if not isinstance(call.func, ast.Attribute):
        return isinstance(call.func, ast.Name) and call.func.id in ("len", "range", "int", "float")
    value = context.values.of(call.func.value)
    return value.kind is Kind.TENSOR
