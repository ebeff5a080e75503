"""What a module is given to compute with: the parameters of its `forward`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import root_of

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def from_forward(context: Context, base: ast.expr) -> bool:
    """Whether the value comes straight from a parameter of a module's `forward`."""
    root = root_of(base)
    function = context.index.function(base)
    if not isinstance(root, ast.Name) or function is None or function.name != "forward":
        return False
    klass = context.index.parents[function]
    if not isinstance(klass, ast.ClassDef) or not context.values.is_module_class(klass):
        return False
    bindings = context.flow.reaching(root)
    return bool(bindings) and all(
        binding.kind == "parameter"
        and binding.node in function.args.args[1:]
        and not _is_number(binding.value)
        for binding in bindings
    )


def _is_number(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is not None
