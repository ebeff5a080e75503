"""Programs that show no warnings: what only warns is then seen by nobody."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import argument, keyword

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_ALL = ("UserWarning", "Warning")
"""The kinds that torch warns with."""


def shows_no_warnings(context: Context) -> bool:
    """Whether the module itself has all warnings ignored: `warnings.filterwarnings("ignore")`."""
    return any(
        _ignores_all(context, call) and context.index.function(call) is None
        for call in context.calls_of("warnings.filterwarnings", "warnings.simplefilter")
    )


def _ignores_all(context: Context, call: ast.Call) -> bool:
    action = argument(call, 0, "action")
    kind = keyword(call, "category")
    given = call.args[1:]
    if len(given) == 1 and context.values.last_name(call.func) == "simplefilter":
        kind, given = given[0], []  # `filterwarnings` takes a message there.
    if not isinstance(action, ast.Constant) or action.value != "ignore" or given:
        return False
    if kind is not None and context.values.last_name(kind) not in _ALL:
        return False
    return all(item.arg in ("action", "category", "append") for item in call.keywords)
