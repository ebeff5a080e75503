"""What a class inherits from libraries, by way of classes of its file and of others."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_BASES = 3
"""A project's own base class, that one's base, and the library's."""


def inherits(
    context: Context, klass: ast.ClassDef, says: Callable[[str], bool | None], depth: int = _BASES
) -> bool:
    """Whether `klass` has a base of which `says` is true. It is asked for each qualified name, and
    says None of what is none of its library's: the base's own bases are looked at then."""
    for base in klass.bases:
        name = context.resolve(base)
        said = says(name) if name is not None else None
        if said:
            return True
        if said is False or not depth:
            continue
        bindings = context.names.bindings(base.id, base) if isinstance(base, ast.Name) else []
        for binding in bindings:
            if isinstance(binding.node, ast.ClassDef) and binding.node is not klass:
                if inherits(context, binding.node, says, depth - 1):
                    return True
        found = context.definition_elsewhere(name) if name is not None else None
        for other in found.bindings if found is not None else ():
            if isinstance(other.node, ast.ClassDef):
                if inherits(found.context, other.node, says, depth - 1):  # type: ignore[union-attr]
                    return True
    return False
