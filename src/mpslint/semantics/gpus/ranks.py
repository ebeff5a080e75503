"""`.cuda(rank)` in a function that is given the number of its process."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.facts.priors import names_process
from mpslint.semantics.syntax.expressions import arguments_for
from mpslint.semantics.syntax.index import FUNCTIONS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_RANKED = "functions that move to the GPU of their process"


def rank_of(context: Context, call: ast.Call) -> str | None:
    """The parameter that a `.cuda(...)` is given, where the function leaves it as it came."""
    function = context.index.function(call)
    given = arguments_for(call, 0, "device")
    if function is None or len(given) != 1 or not isinstance(given[0], ast.Name):
        return None
    name = given[0].id
    bindings = context.names.bindings(name, call)
    if not names_process(name) or len(bindings) != 1 or bindings[0].kind != "parameter":
        return None
    owner = context.index.enclosing(bindings[0].node, *FUNCTIONS)
    return name if bindings[0].value is None and owner is function else None


def is_ranked(context: Context, node: ast.AST) -> bool:
    """Whether the function around `node` moves to the GPU of its process."""
    known = context.memo.get(_RANKED)
    if known is None:
        known = context.memo[_RANKED] = {
            context.index.function(call)
            for call in context.index.calls.get("cuda", ())
            if rank_of(context, call) is not None
        }
    function = context.index.function(node)
    assert isinstance(known, set)
    return function is not None and function in known
