"""Refusals that ask for NVIDIA by its name, and not for some GPU."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mpslint.facts import machines as facts
from mpslint.facts.priors import matches
from mpslint.semantics.index import walk
from mpslint.semantics.value_syntax import last_name

_EXITS = frozenset(name.rpartition(".")[2] for name in facts.EXITS)


def asks_for_nvidia(arm: list[ast.stmt]) -> bool:
    """Whether an arm ends in an error, or in an exit, and says on its way that this takes NVIDIA's
    GPU."""
    return bool(arm) and _ends(arm[-1]) and names_nvidia(arm)


def names_nvidia(said: Sequence[ast.stmt]) -> bool:
    return any(
        isinstance(item, ast.Constant)
        and isinstance(item.value, str)
        and matches("nvidia-words", item.value)
        for statement in said
        for item in walk(statement)
    )


def _ends(last: ast.stmt) -> bool:
    if isinstance(last, ast.Raise):
        return True
    call = last.value if isinstance(last, ast.Expr) else None
    return isinstance(call, ast.Call) and last_name(call.func) in _EXITS
