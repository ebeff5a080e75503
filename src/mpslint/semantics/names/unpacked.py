"""What a name is given where several are at once."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.semantics.names.names import Binding


def bound_part(binding: Binding, name: str) -> ast.expr | None:
    """The expression that a binding gives to `name`, also out of `a, b = x, y`."""
    value = binding.value
    if binding.kind in ("assign", "annotate", "walrus"):
        return value
    if binding.kind != "unpack" or not isinstance(value, ast.Tuple | ast.List):
        return None
    for target in getattr(binding.node, "targets", ()):
        if isinstance(target, ast.Tuple | ast.List) and len(target.elts) == len(value.elts):
            for place, item in zip(target.elts, value.elts, strict=True):
                if isinstance(place, ast.Name) and place.id == name:
                    return item
    return None
