"""Functions that compute where they are told (`device`), and are told the CPU by all who call them:
nothing of a GPU's is waited for there. Where only the results go says nothing of that."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import FunctionNode, walk
from mpslint.semantics.uses.unused import is_program
from mpslint.semantics.worlds.handed import kept_parameters
from mpslint.semantics.worlds.machines import ALL
from mpslint.semantics.worlds.values import DEVICE, UNK, Value, cases_of, where

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.worlds.state import Function

_FORWARD = "forward"


def stays_on_the_cpu(context: Context, row: int) -> bool:
    """Whether a line stands in a function that puts all that it puts on a device on the one that it
    is given, or that its object was made with, and that is the CPU in each call."""
    known: dict[FunctionNode, bool] = context.memo.setdefault("given the CPU", {})  # type: ignore[assignment]
    for function in context.index.functions():
        if function.lineno <= row <= (function.end_lineno or 0):
            if function not in known:
                known[function] = _is_given_the_cpu(context, function)
            if known[function]:
                return True
    return False


def _is_given_the_cpu(context: Context, function: FunctionNode) -> bool:
    uses = [call for call in context.placement.all_uses() if context.index.within(call, function)]
    places = [list(_places(context, call)) for call in uses]
    if not uses or not all(places) or any(_moves_a_result(context, call) for call in uses):
        return False
    run = context.worlds.run
    described = run.functions.get(function)
    for place in {ast.unparse(item): item for items in places for item in items}.values():
        if described is None or not _is_the_cpu(context, described, place):
            return False
    return True


def _places(context: Context, call: ast.Call) -> Iterator[ast.expr]:
    """The devices that a call is given; none of `.cuda()`."""
    for item in (*call.args, *(keyword.value for keyword in call.keywords)):
        if isinstance(item, ast.Name | ast.Attribute) and context.placement.names_accelerator(item):
            yield item


def _moves_a_result(context: Context, call: ast.Call) -> bool:
    """Whether what is moved came out of an object that computes elsewhere, as far as is seen:
    `kept.append(model(x).to(device))`, where neither `model` nor `x` was put on the device."""
    func = call.func
    return isinstance(func, ast.Attribute) and any(
        not _is_placed(context, result) for result in _results(context, func.value, set())
    )


def _results(context: Context, value: ast.expr, seen: set[ast.AST]) -> Iterator[ast.Call]:
    """The calls of objects that a value is made of: `self.model(x)`, `model(x)`."""
    for node in walk(value):
        if isinstance(node, ast.Call) and node.args and _is_object(context, node.func):
            yield node
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            for binding in context.flow.reaching(node):
                if binding.value is None or binding.kind == "parameter" or binding.node in seen:
                    continue
                seen.add(binding.node)
                yield from _results(context, binding.value, seen)


def _is_object(context: Context, func: ast.expr) -> bool:
    """Whether what is called is given to the function, or kept by its object."""
    if isinstance(func, ast.Name):
        bindings = context.flow.reaching(func)
        return bool(bindings) and all(item.kind == "parameter" for item in bindings)
    return (
        isinstance(func, ast.Attribute)
        and isinstance(func.value, ast.Name)
        and func.value.id == "self"
        and any(
            isinstance(item.ctx, ast.Store) for item in context.index.attributes.get(func.attr, ())
        )
    )


def _is_placed(context: Context, result: ast.Call) -> bool:
    """Whether an object, or what it computes with, is put on a device in this file."""
    if any(map(context.placement.on_accelerator, (result, result.func, *result.args))):
        return True
    moved = ast.unparse(result.func)
    return any(
        isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == moved
        for call in context.index.calls.get("to", ())
    )


def _is_the_cpu(context: Context, function: Function, place: ast.expr) -> bool:
    if isinstance(place, ast.Name):
        bindings = context.flow.reaching(place)
        parameter = all(item.kind == "parameter" for item in bindings) and place.id
        return bool(bindings and parameter) and _all_give_it(context, function, place.id)
    # `self.device`, which the constructor keeps
    if not isinstance(place, ast.Attribute) or not isinstance(place.value, ast.Name):
        return False
    made = function.cls.methods.get("__init__") if function.cls is not None else None
    if made is None or place.value.id != "self":
        return False
    stores = [
        item
        for item in context.index.attributes.get(place.attr, ())
        if isinstance(item.ctx, ast.Store)
    ]
    kept = kept_parameters(made).get(place.attr)
    return len(stores) == 1 and kept is not None and _all_give_it(context, made, kept)


def _all_give_it(context: Context, function: Function, name: str) -> bool:
    """Whether each call gives the CPU for a parameter, those of other files as well."""
    if function.escaped:
        return False
    given = [bound.get(name, UNK) for _, _, bound in function.calls.values()]
    if not all(map(_is_cpu, given)):
        return False
    others = _given_by_others(context, function, name)
    if others is None:
        # Who imports a program has it do something else than what it is started for.
        return bool(given) and is_program(context)
    return bool(given or others) and all(map(_is_cpu, others))


def _given_by_others(context: Context, function: Function, name: str) -> list[Value] | None:
    """What other files give; None where they are not seen."""
    elsewhere, path, cls = context.elsewhere, context.source.path, function.cls
    if elsewhere is None:
        return None
    called = function.node.name
    if cls is not None and called != "__init__":
        is_used = elsewhere.uses(path, cls.node.name, method=False)
        return None if is_used or called != _FORWARD else []
    if cls is not None:
        called = cls.node.name
    handed = elsewhere.given(path, called, frozenset(), False)
    if handed is None:
        return None
    run = context.worlds.run
    return [
        run.bound_arguments(function, one.node, one.args, one.keywords, bound=cls is not None).get(
            name, UNK
        )
        for one in handed
    ]


def _is_cpu(value: Value) -> bool:
    return all(
        atom.kind == DEVICE and not atom.maybe and where(atom) == "cpu"
        for _, atom in cases_of(value, ALL)
    )
