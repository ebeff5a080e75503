"""Parameters that a call gives by a table: `match(a, b, **options)` after `options =
dict(device=device)`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import keyword
from mpslint.semantics.uses.defined import asked_for

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.elsewhere.elsewhere import Given

_STEPS = 3
"""A name for the table, the parameter that it is handed to, and the name there."""


def gives(context: Context, given: Given, call: ast.Call) -> bool:
    """Whether a call gives a parameter for certain, by itself or by a table that has it."""
    return given.by(call) or any(
        keyword.arg is None and _has(context, keyword.value, given.parameter, _STEPS)
        for keyword in call.keywords
    )


def _has(context: Context, table: ast.expr, key: str, steps: int) -> bool:
    """Whether a table has a key, whichever way it was made."""
    if isinstance(table, ast.Dict):
        return any(isinstance(one, ast.Constant) and one.value == key for one in table.keys)
    if isinstance(table, ast.Call):
        made = isinstance(table.func, ast.Name) and table.func.id == "dict"
        return made and keyword(table, key) is not None
    if not isinstance(table, ast.Name) or not steps or _loses(context, table):
        return False
    bindings = context.flow.reaching(table)
    return bool(bindings) and all(
        (
            binding.kind in ("assign", "annotate")
            and binding.value is not None
            and _has(context, binding.value, key, steps - 1)
        )
        or (
            binding.kind == "parameter"
            and binding.value is None
            and isinstance(binding.node, ast.arg)
            and _is_handed(context, binding.node, key, steps - 1)
        )
        for binding in bindings
    )


def _is_handed(context: Context, parameter: ast.arg, key: str, steps: int) -> bool:
    """Whether each call of the function in its file gives it a table that has the key."""
    function = context.index.function(parameter)
    asked = asked_for(context, function, parameter) if function is not None else None
    if asked is None:
        return False
    tables = [asked.of(call) for call in context.index.calls.get(asked.name, ())]
    return bool(tables) and all(
        table is not None and _has(context, table, key, steps) for table in tables
    )


def _loses(context: Context, table: ast.Name) -> bool:
    """Whether the function may take the key out again: `options.pop("device")`."""
    function = context.index.function(table)
    return any(
        context.index.function(use) is function
        and (
            (
                isinstance(parent := context.index.parents[use], ast.Attribute)
                and parent.attr in ("pop", "popitem", "clear")
            )
            or (isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Del))
        )
        for use in context.index.names.get(table.id, ())
    )
