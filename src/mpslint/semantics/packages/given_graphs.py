"""Functions and classes that are given data which have no way to MPS, and ask them for what only
such data have: `graph.local_scope()`."""

from __future__ import annotations

import ast
from collections import defaultdict
from typing import TYPE_CHECKING

from mpslint.facts.priors import attributes_without_mps
from mpslint.semantics.packages.cuda_packages import imports_without_mps
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.parameters import positional_parameters
from mpslint.semantics.uses.defined import definitions_around

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_ENOUGH = 2
"""So many names that only such data have all of say what they are; one alone may be another's."""


def is_given_without_mps(context: Context, row: int) -> bool:
    """Whether a line belongs to a function or class that is given such data: what it computes lies
    where they lie."""
    asking = _asking(context)
    return bool(asking) and any(item.node in asking for item in definitions_around(context, row))


def _asking(context: Context) -> set[ast.stmt]:
    """The functions and classes of a module that ask one of their parameters for what such data
    have. A module that has such names of its own, or imports the package where it needs that,
    takes other data too."""
    known = context.memo.get("given without MPS")
    if known is None:
        known = context.memo["given without MPS"] = _found(context)
    assert isinstance(known, set)
    return known


def _found(context: Context) -> set[ast.stmt]:
    names = attributes_without_mps()
    asked = [item for name in names for item in context.index.attributes.get(name, ())]
    if not asked or any(isinstance(item.ctx, ast.Store) for item in asked):
        return set()
    if any(item.name in names for item in context.index.functions()):
        return set()
    if imports_without_mps(context):
        return set()
    said: dict[ast.arg, set[str]] = defaultdict(set)
    for item in asked:
        parameter = _parameter(context, item.value)
        if parameter is not None:
            said[parameter].add(item.attr)
    return {
        _outermost(context, parameter)
        for parameter, words in said.items()
        if len(words) >= _ENOUGH or any(names[word] for word in words)
    }


def _parameter(context: Context, base: ast.expr) -> ast.arg | None:
    """The parameter that a name stands for; None where it may be another thing, or the object."""
    bindings = context.flow.reaching(base) if isinstance(base, ast.Name) else ()
    if not bindings or any(item.node is not bindings[0].node for item in bindings):
        return None
    parameter = bindings[0].node
    function = context.index.function(parameter)
    if not isinstance(parameter, ast.arg) or function is None:
        return None
    is_method = isinstance(context.index.parents[function], ast.ClassDef)
    positional = positional_parameters(function.args)
    return None if is_method and positional[:1] == [parameter] else parameter


def _outermost(context: Context, parameter: ast.arg) -> ast.stmt:
    found = context.index.statement(parameter)
    for parent in context.index.ancestors(parameter):
        if isinstance(parent, (*FUNCTIONS, ast.ClassDef)):
            found = parent
    return found
