"""Functions that steps of training in other files of the project give tensors of a device."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

from mpslint.semantics.steps.converting_methods import converting_methods
from mpslint.semantics.syntax.index import FunctionNode
from mpslint.semantics.syntax.parameters import positional_names
from mpslint.semantics.values.placement import has_host_copy

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

Arguments: TypeAlias = frozenset[int | str]
"""Places and names of arguments of a call."""
_KNOWN = "given-in-steps"
_NAMES_FOLLOWED = 4
"""`scores = scores > t`, `hits = (scores == y) + 1`, `total = hits.sum()`, and the read."""
_OF_THE_HOST = ("shape", "device", "dtype", "ndim")


def may_be_given(context: Context) -> bool:
    """Whether somebody can be asked, and the file has a function to give something: cheap."""
    return context.imported is not None and (
        any(
            isinstance(item, ast.FunctionDef) and (item.args.args or item.args.kwonlyargs)
            for item in context.tree.body
        )
        or bool(converting_methods(context))
    )


def parameters_given(context: Context, function: FunctionNode) -> frozenset[str]:
    """The parameters of a function of the module for which steps of training in other files give
    tensors of a device, or of a method that makes numbers of such; empty: none calls it."""
    if context.imported is None or not _may_be_asked_for(context, function):
        return frozenset()
    known: dict[FunctionNode, frozenset[str]]
    known = context.memo.setdefault(_KNOWN, {})  # type: ignore[assignment]
    if function not in known:
        known[function] = _by_name(
            function, context.imported.given_in_steps(name_of(context, function))
        )
    return known[function]


def _may_be_asked_for(context: Context, function: FunctionNode) -> bool:
    if isinstance(context.index.parents[function], ast.Module):
        return True
    return function in converting_methods(context)


def name_of(context: Context, function: FunctionNode) -> str:
    """`update`, and `Meter.update` of a method."""
    klass = context.index.parents[function]
    return f"{klass.name}.{function.name}" if isinstance(klass, ast.ClassDef) else function.name


def _by_name(function: FunctionNode, given: Arguments) -> frozenset[str]:
    """The parameters that stand for these places and names; what has none goes to `**others`."""
    arguments = function.args
    places = positional_names(arguments)
    named = {*places, *(item.arg for item in arguments.kwonlyargs)}
    found = set()
    for item in given:
        if isinstance(item, int):
            found.update(places[item : item + 1])
        elif item in named:
            found.add(item)
        elif arguments.kwarg is not None:
            found.add(arguments.kwarg.arg)
    return frozenset(found)


def is_made_of_given(context: Context, node: ast.expr) -> bool:
    """Whether `node` is made of what a step of training in another file gives its function."""
    function = context.index.function(node)
    if function is None or has_host_copy(node):
        return False
    given = parameters_given(context, function)
    return bool(given) and not given.isdisjoint(origins(context, node))


def origins(context: Context, node: ast.expr, names: int = _NAMES_FOLLOWED) -> Iterator[str]:
    """The parameters of its function that a tensor is made of."""
    for name in ast.walk(node):
        if not isinstance(name, ast.Name) or not isinstance(name.ctx, ast.Load):
            continue
        parent = context.index.parents[name]
        if isinstance(parent, ast.Attribute) and parent.attr in _OF_THE_HOST:
            continue
        for binding in context.flow.reaching(name):
            if binding.kind == "parameter":
                yield name.id
            elif names and binding.kind in ("assign", "for") and binding.value is not None:
                if not has_host_copy(binding.value):
                    yield from origins(context, binding.value, names - 1)
