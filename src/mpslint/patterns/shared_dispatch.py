"""One function of the file in place of many copies of the same dispatch."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.patterns.availability import wants_mps
from mpslint.patterns.own_device import Tests, machine_tests, tests_at
from mpslint.patterns.place import behind_imports, comes_before
from mpslint.patterns.text import holds_comment, indent_unit, insert, replace
from mpslint.records import NamedTuple
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.parameters import required_parameters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.model import Edit
    from mpslint.patterns.place import Place
    from mpslint.semantics.context import Context
    from mpslint.semantics.names.names import Binding

FEW, MANY = 2, 3
"""So many copies of four lines are worth a function: where they ask the same, and where each asks a
device of its own."""
_NAMES = {
    "synchronize": ("synchronize", "synchronize_device", "wait_for_device"),
    "empty_cache": ("empty_cache", "empty_device_cache", "free_cached_memory"),
}
_ASKING = ("is_available", "is_built", "hasattr")


class _Plan(NamedTuple):
    """What a file has, or would get, for the same call everywhere: found out once."""

    there: tuple[tuple[str, Binding], ...]
    """Functions of the module that do the same on CUDA and on MPS, and nothing else."""
    new: tuple[str, Place, str] | None
    """The name of a new one, where it goes, and its text; None: there is no way to one."""


def shared_dispatch(
    context: Context, call: ast.Call, calls: Sequence[ast.Call]
) -> tuple[Edit, ...] | None:
    """`empty_cache()` for `torch.cuda.empty_cache()`: a function that the file has, or that
    `calls`, all that would be given a dispatch, are worth. None: in place."""
    what = (context.resolve(call.func) or "").rpartition(".")[2]
    if what not in _NAMES or call.args or call.keywords:
        return None
    if not isinstance(context.index.parents[call], ast.Expr):
        return None
    if holds_comment(context.source, *context.source.span(call)):
        return None
    key = f"the dispatch of {what}, for {len(calls)}"
    plan = context.memo.get(key)
    if plan is None:
        plan = context.memo[key] = _plan(context, what, calls)
    assert isinstance(plan, _Plan)
    for name, binding in plan.there:
        if _is_in_reach(context, name, binding, call):
            return (replace(context.source, call, f"{name}()"),)
    if plan.new is None:
        return None
    name, place, text = plan.new
    return insert(place.offset, text), replace(context.source, call, f"{name}()")


def _plan(context: Context, what: str, calls: Sequence[ast.Call]) -> _Plan:
    bindings = context.names.module.bindings
    there = tuple(
        (name, bound[0])
        for name, bound in bindings.items()
        if len(bound) == 1 and _does_only(context, bound[0], what)
    )
    if len(calls) < FEW or context.settings.style == "accelerator" or not wants_mps(context):
        return _Plan(there, None)
    place = behind_imports(context)
    name = next((name for name in _NAMES[what] if not is_taken(context, name)), None)
    if place is None or name is None:
        return _Plan(there, None)
    if not all(comes_before(context, place, one) for one in calls):
        return _Plan(there, None)
    tests = shared_tests(context, place.torch, calls)
    asked = (tests_at(context, one, place.torch)[:2] for one in calls)
    if len(calls) < MANY and any(one != tests[:2] for one in asked):
        return _Plan(there, None)
    if tests.device:
        place = below_the_device(context, place, tests.device, calls)
    return _Plan(there, (name, place, _text(context, what, name, place, tests)))


def below_the_device(
    context: Context, place: Place, device: str, calls: Sequence[ast.Call]
) -> Place:
    """Behind the line that chooses the device that the function reads, and behind the assignments
    that go with it where functions begin: who reads the file has met it by then."""
    body, source = context.tree.body, context.source
    chosen = [
        at
        for binding in context.names.module.bindings.get(device, ())
        for at, statement in enumerate(body)
        if context.index.within(binding.node, statement)
    ]
    if not chosen or source.span(body[max(chosen)])[1] < place.offset:
        return place
    last = at = max(chosen)
    while at + 1 < len(body) and isinstance(body[at + 1], ast.Assign | ast.AnnAssign):
        at += 1
    if at + 1 < len(body) and isinstance(body[at + 1], (*FUNCTIONS, ast.ClassDef)):
        last = at
    row = body[last].end_lineno or body[last].lineno
    if row >= len(source.starts) or ";" in source.line(row):
        return place
    below = place._replace(offset=source.starts[row], after=body[last])
    return below if all(comes_before(context, below, one) for one in calls) else place


def shared_tests(context: Context, torch: str, calls: Sequence[ast.Call]) -> Tests:
    """What the function asks: the device of the module, where all calls work on that one."""
    tests = {tests_at(context, call, torch) for call in calls}
    only, module = tests.pop(), context.names.module
    is_seen = all(context.names.owner(only.device, call) is module for call in calls)
    return only if not tests and is_seen else machine_tests(context, torch)


def _text(context: Context, what: str, name: str, place: Place, tests: Tests) -> str:
    torch = place.torch
    lines = [
        f"if {tests.cuda}:",
        f"\t{torch}.cuda.{what}()",
        f"elif {tests.mps}:",
        f"\t{torch}.mps.{what}()",
    ]
    return as_function(context, name, place, lines)


def as_function(context: Context, name: str, place: Place, body: Sequence[str]) -> str:
    """A function without parameters at that place, with the blank lines around it that it needs.
    In `body` a tab is one level."""
    source = context.source
    unit, newline = indent_unit(source), source.newline
    lines = [f"def {name}():", *(unit + line.replace("\t", unit) for line in body)]
    rest = source.text[place.offset :]
    blank = next((n for n, line in enumerate(rest.splitlines()) if line.strip()), 2)
    lead = newline if place.offset == len(source.text) and not source.text.endswith("\n") else ""
    return lead + newline.join(["", "", *lines]) + newline * (1 + max(2 - blank, 0))


def _is_in_reach(context: Context, name: str, binding: Binding, at: ast.Call) -> bool:
    if context.names.owner(name, at) is not context.names.module:
        return False
    if binding.kind == "def" and context.index.within(at, binding.node):
        return False
    return _is_bound_before(context, binding, at)


def _is_bound_before(context: Context, binding: Binding, at: ast.AST) -> bool:
    statement = context.index.statement(binding.node)
    if context.index.parents[statement] is not context.tree:
        return False
    if context.index.function(at) is not None:
        return True
    return context.source.span(statement)[1] <= context.source.span(at)[0]


def _does_only(context: Context, binding: Binding, what: str) -> bool:
    function = binding.node
    if not isinstance(function, ast.FunctionDef) or required_parameters(function.args):
        return False
    calls = [item for item in ast.walk(function) if isinstance(item, ast.Call)]
    names = [context.resolve(item.func) or ast.unparse(item.func) for item in calls]
    done = {name for name in names if name.rpartition(".")[2] not in _ASKING}
    return done == {f"torch.cuda.{what}", f"torch.mps.{what}"}


def is_taken(context: Context, name: str) -> bool:
    return any(bound == name for bound, _ in context.names.every_binding()) or bool(
        context.index.names.get(name)
    )
