"""Modules that a checkpoint holds as a whole, by what is done with what was loaded."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.saved.used_as_modules import ASKED, is_used_as_one
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.parameters import explicit_parameters, given_for
from mpslint.semantics.values.values import Kind

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_STEPS = 4
"""So many names and functions are followed from the load to where the module is used."""


def is_module(context: Context, call: ast.Call) -> bool:
    """Whether what `call` loads, or an entry of it, is used as a module: it is called, asked for
    its parameters, handed to a function of the file that does so, or kept under a name that
    holds a module made by the program otherwise."""
    if (context.resolve(call.func) or "") == "torch.jit.load":
        return True
    parent = context.index.parents[call]
    if isinstance(parent, ast.Attribute):
        return parent.attr in ASKED
    return any(True for _ in modules_of(context, call))


def modules_of(context: Context, call: ast.Call) -> Iterator[ast.expr]:
    """The names and attributes under which such a module is kept."""
    for kept in _kept(context, call, _STEPS):
        if _is_used_as_module(context, kept, _STEPS):
            yield kept


def _kept(context: Context, value: ast.expr, steps: int) -> Iterator[ast.expr]:
    """What a value is given to, or an entry of it: `model` of `model = checkpoint["model"]`."""
    parent = context.index.parents[value]
    if steps and isinstance(parent, ast.Return):
        for call in given_back(context, value):
            yield from _kept(context, call, steps - 1)
    if steps and isinstance(parent, ast.Subscript) and parent.value is value:
        yield from _kept(context, parent, steps - 1)
    if not steps or not isinstance(parent, ast.Assign) or parent.value is not value:
        return
    for target in parent.targets:
        if not isinstance(target, ast.Name | ast.Attribute):
            continue
        yield target
        for use in _uses(context, target):
            entry = context.index.parents[use]
            is_entry = isinstance(entry, ast.Subscript) and entry.value is use
            held: ast.expr = entry if is_entry else use  # type: ignore[assignment]
            yield from _kept(context, held, steps - 1)


def given_back(context: Context, value: ast.expr) -> Iterator[ast.Call]:
    """The calls of the function of this file that returns a value, by its name."""
    function = context.index.function(value)
    if function is not None and isinstance(context.index.parents[value], ast.Return):
        for call in context.index.calls.get(function.name, ()):
            if isinstance(call.func, ast.Name):
                yield call


def handed_out(context: Context, call: ast.Call) -> Iterator[ast.Call]:
    """The calls of the file that get what `call` loads from the function around it."""
    yield from given_back(context, call)
    for kept in _kept(context, call, _STEPS):
        for use in _uses(context, kept):
            yield from given_back(context, use)


def computes(context: Context, call: ast.Call) -> ast.Call | None:
    """Where the file gives a tensor to a module that `call` loads: it calls it, or a method of its
    class."""
    if not is_module(context, call):
        return None
    for kept in _kept(context, call, _STEPS):
        for use in _uses(context, kept):
            called = _called(context, use)
            if called is not None and called.args:
                return called
    return None


def _called(context: Context, use: ast.expr) -> ast.Call | None:
    """`model(x)`, and `model.decode(z)` of a tensor."""
    around = context.index.parents[use]
    if isinstance(around, ast.Call):
        return around if around.func is use else None
    call = context.index.parents[around] if isinstance(around, ast.Attribute) else None
    is_call = isinstance(call, ast.Call) and call.func is around
    if not is_call or not isinstance(call, ast.Call):
        return None
    given = any(context.values.of(one).kind is Kind.TENSOR for one in call.args)
    return call if given else None


def _uses(context: Context, kept: ast.expr) -> Iterator[ast.expr]:
    """Where else the same is read: a name in its function, an attribute in the class."""
    if isinstance(kept, ast.Name):
        function = context.index.function(kept)
        for name in context.index.names.get(kept.id, ()):
            if isinstance(name.ctx, ast.Load) and context.index.function(name) is function:
                yield name
    elif isinstance(kept, ast.Attribute):
        owner, spelled = context.index.enclosing(kept, ast.ClassDef), ast.unparse(kept)
        for attribute in context.index.attributes.get(kept.attr, ()):
            if isinstance(attribute.ctx, ast.Load) and ast.unparse(attribute) == spelled:
                if context.index.enclosing(attribute, ast.ClassDef) is owner:
                    yield attribute


def _is_used_as_module(context: Context, kept: ast.expr, steps: int) -> bool:
    if _is_made_otherwise(context, kept) or is_used_as_one(context, kept):
        return True
    for use in _uses(context, kept):
        parent = context.index.parents[use]
        if isinstance(parent, ast.keyword):
            parent = context.index.parents[parent]
        if _called(context, use) is not None:
            return True
        if isinstance(parent, ast.Call) and steps:
            if _is_taken_for_one(context, parent, use, steps - 1):
                return True
    return False


def _is_made_otherwise(context: Context, kept: ast.expr) -> bool:
    """Whether another line of the function gives the name a module: `model = Net()` in one arm,
    what was loaded in the other."""
    if not isinstance(kept, ast.Name):
        return False
    function = context.index.function(kept)
    return any(
        isinstance(made := context.index.parents[name], ast.Assign)
        and name in made.targets
        and context.values.of(made.value).kind is Kind.MODULE
        for name in context.index.names.get(kept.id, ())
        if context.index.function(name) is function
    )


def _is_taken_for_one(context: Context, call: ast.Call, given: ast.expr, steps: int) -> bool:
    """Whether a function of the file uses a parameter as a module that is given this."""
    if not isinstance(call.func, ast.Name):
        return False
    for binding in context.names.bindings(call.func.id, call.func):
        function = binding.node
        if isinstance(function, FUNCTIONS):
            for parameter in explicit_parameters(function.args):
                if given_for(function.args, call, parameter.arg) is given:
                    return _is_parameter_module(context, function, parameter, steps)
    return False


def _is_parameter_module(
    context: Context, function: ast.AST, parameter: ast.arg, steps: int
) -> bool:
    used = [
        name
        for name in context.index.names.get(parameter.arg, ())
        if context.index.function(name) is function
    ]
    return bool(used) and _is_used_as_module(context, used[0], steps)
