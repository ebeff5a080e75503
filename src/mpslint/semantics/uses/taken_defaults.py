"""Defaults of parameters that somebody takes: one that all calls give stands for nothing."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.parameters import explicit_parameters
from mpslint.semantics.uses.defined import asked_for
from mpslint.semantics.uses.given_in_tables import gives
from mpslint.semantics.uses.leftovers import is_never_default

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def taken_default(context: Context, name: ast.Name) -> ast.expr | None:
    """The default of a parameter that is used as it is; None where it has none, and where no call
    leaves it out, neither in this file nor, as far as these are seen, in the project."""
    found = context.flow.reaching(name)
    if len(found) != 1 or found[0].kind != "parameter" or found[0].value is None:
        return None
    default = found[0].value
    given = _is_given_here(context, name) or is_never_default(context, default)
    return None if given else default


def _is_given_here(context: Context, name: ast.Name) -> bool:
    """Whether the file calls the function, and each of its calls gives the parameter."""
    function = context.index.function(name)
    if function is None:
        return False
    taken = explicit_parameters(function.args)
    parameter = next((item for item in taken if item.arg == name.id), None)
    asked = asked_for(context, function, parameter) if parameter is not None else None
    calls = context.index.calls.get(asked.name, ()) if asked is not None else ()
    return asked is not None and bool(calls) and all(gives(context, asked, x) for x in calls)
