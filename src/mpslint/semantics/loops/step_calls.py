"""Loops that train by calling a function of their file that is one step of training.

`for batch in batches: loss, norm = self.update(batch)` trains as much as one that goes back through
the graph itself: what it reads of `loss` at each turn, it waits for at each turn.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.facts.priors import matches
from mpslint.semantics.loops.loops import Loop, LoopKind
from mpslint.semantics.loops.single_turns import turns_once
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import FunctionNode

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_LOOPS = "step-calls.loops"
_STEPS = "step-calls.steps"


def calls_a_step(context: Context, loop: Loop) -> bool:
    """Whether every turn of `loop` calls a step of training of this file."""
    known: set[Loop] | None = context.memo.get(_LOOPS)  # type: ignore[assignment]
    if known is None:
        known = context.memo[_LOOPS] = set(_that_call(context))
    return loop in known


def _that_call(context: Context) -> Iterator[Loop]:
    loops = context.loops
    for function in steps(context):
        for site in called_by_name(context, function):
            loop = loops.innermost(site)
            if loop is not None and loops.every_step(site, loop):
                yield loop
    for loop in context.index.of(ast.For):
        if loops.kind(loop) is LoopKind.TRAIN and _walks_in_strides(loop):
            around = loops.innermost(loop)
            if around is not None and _walks_in_strides(around):
                yield around


def _walks_in_strides(loop: Loop) -> bool:
    """`for start in range(0, n, size)`: each turn is for a part of a set or of a batch. Where both
    of two loops are such, the outer goes through batches, and the inner through parts of one, whose
    gradients add up to a step."""
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call):
        return False
    call = loop.iter
    if call.args and isinstance(call.args[0], ast.Call) and last_name(call.func) == "tqdm":
        call = call.args[0]
    return (
        last_name(call.func) in ("range", "trange")
        and len(call.args) == 3
        and isinstance(call.args[2], ast.Name | ast.Attribute)
    )


def steps(context: Context) -> set[FunctionNode]:
    """The functions of this file of which a call is one step of training."""
    known: set[FunctionNode] | None = context.memo.get(_STEPS)  # type: ignore[assignment]
    if known is None:
        around = {context.index.function(call) for call in context.index.calls.get("backward", ())}
        known = {item for item in around if item is not None and _is_step(context, item)}
        known |= {function for one in known for function in _that_hand_over(context, one)}
        context.memo[_STEPS] = known
    return known


def _that_hand_over(context: Context, step: FunctionNode) -> Iterator[FunctionNode]:
    """Functions of this file whose calls each leave the step to `step`, once: `self.optimize(loss)`
    at the end of what reckons the loss."""
    for site in called_by_name(context, step):
        function = context.index.function(site)
        if function is None or context.loops.innermost(site) is not None:
            continue
        if context.loops.every_step(site, function):
            yield function


def trains_once(context: Context, function: FunctionNode) -> bool:
    """Whether a call of `function` is one step of training."""
    return function in steps(context)


def _is_step(context: Context, function: FunctionNode) -> bool:
    """Whether a call trains once: itself, or in a loop that turns once unless somebody asks for
    more."""
    if context.loops.is_step(function) or _adds_gradients_up(context, function):
        return True
    around = (context.loops.innermost(call) for call in context.index.calls.get("backward", ()))
    return any(
        loop is not None
        and context.index.function(loop) is function
        and context.loops.innermost(loop) is None
        and turns_once(context, loop)
        and context.loops.is_step(loop)
        for loop in around
    )


def _adds_gradients_up(context: Context, function: FunctionNode) -> bool:
    """Whether a loop in `function` goes back for the parts of a batch, and one step of an optimizer
    comes behind it. What goes through a loader first is an epoch."""
    loops, calls = context.loops, context.index.calls
    parts = {
        loop
        for call in calls.get("backward", ())
        if context.index.function(call) is function
        and (loop := loops.innermost(call)) is not None
        and loops.innermost(loop) is None
    }
    if len(parts) != 1:
        return False
    (loop,) = parts
    return (
        isinstance(loop, ast.For)
        and not loops.draws_batches(loop)
        and not any(matches("epoch-counters", item.arg) for item in function.args.args)
        and any(
            context.index.function(call) is function
            and isinstance(call.func, ast.Attribute)
            and loops.is_optimizer(call.func.value)
            and loops.innermost(call) is None
            and call.lineno > loop.lineno
            for call in calls.get("step", ())
        )
    )


def called_by_name(context: Context, function: FunctionNode) -> Iterator[ast.Call]:
    """Calls of `function` that can be of no other: by its name, by way of `self`, or of an object
    that this file makes of its class under a name."""
    index = context.index
    klass = index.parents[function]
    if isinstance(klass, ast.ClassDef):
        named: list[ast.Attribute] | list[ast.Name] = [
            use
            for use in index.attributes.get(function.name, ())
            if _is_of(context, use.value, klass)
        ]
        if function.name == "__call__":
            yield from _calls_of_object(context, klass, function)
    else:
        scope = context.names.scope_of(function)
        named = [
            use
            for use in index.names.get(function.name, ())
            if context.names.owner(use.id, use) is scope
        ]
    for use in named:
        call = index.parents[use]
        if isinstance(call, ast.Call) and call.func is use and not index.within(use, function):
            yield call


def _calls_of_object(
    context: Context, klass: ast.ClassDef, function: FunctionNode
) -> Iterator[ast.Call]:
    """`show(loss)`, where `show = Show()`."""
    index = context.index
    made = (index.parents[call] for call in index.calls.get(klass.name, ()))
    targets = (target for one in made if isinstance(one, ast.Assign) for target in one.targets)
    names = dict.fromkeys(target.id for target in targets if isinstance(target, ast.Name))
    for call in (call for name in names for call in index.calls.get(name, ())):
        if isinstance(call.func, ast.Name) and not index.within(call, function):
            if _is_made_of(context, call.func, klass):
                yield call


def _is_of(context: Context, node: ast.expr, klass: ast.ClassDef) -> bool:
    """Whether `node` can be nothing but an object of `klass`."""
    if isinstance(node, ast.Name):
        if node.id == "self":
            return context.index.within(node, klass)
        return _is_made_of(context, node, klass)
    return _is_kept(context, node, klass)


def _is_kept(context: Context, node: ast.expr, klass: ast.ClassDef) -> bool:
    """`self.converter`, where the class around it keeps nothing under that name but objects that
    it makes of `klass`."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return False
    owner = context.index.enclosing(node, ast.ClassDef)
    if node.value.id != "self" or owner is None or owner is klass:
        return False
    kept = [
        context.index.parents[use]
        for use in context.index.attributes.get(node.attr, ())
        if isinstance(use.ctx, ast.Store)
    ]
    return bool(kept) and all(
        isinstance(item, ast.Assign)
        and context.index.within(item, owner)
        and _makes(context, item.value, klass)
        for item in kept
    )


def _is_made_of(context: Context, name: ast.Name, klass: ast.ClassDef) -> bool:
    """Whether all that `name` can hold is an object that the file makes of `klass`."""
    bindings = context.flow.reaching(name)
    return bool(bindings) and all(
        binding.kind == "assign" and _makes(context, binding.value, klass) for binding in bindings
    )


def _makes(context: Context, node: ast.expr | None, klass: ast.ClassDef) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == klass.name
        and [one.node for one in context.names.bindings(klass.name, node.func)] == [klass]
    )
