"""By which keys a checkpoint is read, and under which keys a program keeps what it trains.

`checkpoint["network"]` and `checkpoint["epoch"]` of a file are what some program of the project has
put there, where one writes a table with these keys out: nobody else is likely to name them so.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.facts.priors import matches
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.values.placement import has_host_copy

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def keys_read(context: Context, load: ast.Call) -> frozenset[str]:
    """The keys by which the function around takes something out of what `load` reads."""
    found = set(_keys_of(context, load))
    statement = context.index.parents[load]
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        name = statement.targets[0].id
        for use in context.index.names.get(name, ()):
            if any(binding.node is statement for binding in context.flow.reaching(use)):
                found |= set(_keys_of(context, use))
    return frozenset(found)


def _keys_of(context: Context, node: ast.expr) -> Iterator[str]:
    parent = context.index.parents[node]
    if isinstance(parent, ast.Subscript) and parent.value is node:
        if isinstance(parent.slice, ast.Constant) and isinstance(parent.slice.value, str):
            yield parent.slice.value


def say_whose(keys: frozenset[str]) -> bool:
    """Whether keys are enough to tell one program's checkpoints from those of others."""
    return len(keys) > 1 or any(not matches("published-keys", key) for key in keys)


def keeps_under(context: Context, keys: frozenset[str]) -> bool:
    """Whether the file writes out a table with all of these keys, or with enough of them to say
    whose it is, under one of which stands the state of something as it lies on its device."""
    for table in context.index.of(ast.Dict):
        kept = {
            key.value: value
            for key, value in zip(table.keys, table.values, strict=True)
            if isinstance(key, ast.Constant) and isinstance(key.value, str)
        }
        common = keys & kept.keys()
        if not say_whose(common):
            continue
        if any(
            isinstance(kept[key], ast.Call)
            and last_name(kept[key].func) == "state_dict"  # type: ignore[attr-defined]
            and not has_host_copy(kept[key])
            for key in common
        ):
            return True
    return False
