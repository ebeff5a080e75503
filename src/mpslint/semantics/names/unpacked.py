"""What a name is given where several are at once."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.semantics.names.names import Binding


def given_to(binding: Binding, name: str) -> ast.expr | None:
    """`x` of `name = x`, and of `name, other = x, y`."""
    value = binding.value
    if binding.kind == "assign":
        return value
    if binding.kind != "unpack" or not isinstance(binding.node, ast.Assign):
        return None
    for target in binding.node.targets:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for place, item in zip(target.elts, value.elts, strict=False):
                if isinstance(place, ast.Name) and place.id == name:
                    return item
    return None
