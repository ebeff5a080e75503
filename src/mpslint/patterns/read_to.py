"""Devices that only say where a checkpoint is read to, from where all of it is copied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.patterns.only_copied import goes_to_state_dict
from mpslint.semantics.worlds.load_places import goes_to_a_model, load_to

if TYPE_CHECKING:
    import ast

    from mpslint.semantics.context import Context


def is_read_to(context: Context, node: ast.AST) -> bool:
    """Whether `node` is a part of the `map_location` of what is copied into modules and optimizers:
    nothing else comes to lie there."""
    if goes_to_a_model(context, node):
        return True
    load = load_to(context, node)
    if load is None or context.resolve(load.func) != "torch.load":
        return False
    return goes_to_state_dict(context, load)
