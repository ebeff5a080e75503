"""Modules and optimizers by what is done with them: who is given one does not see it made."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

# Fact: methods of `torch.nn.Module` and of `torch.optim.Optimizer`, which nothing else has.
_METHODS = (
    *("parameters", "named_parameters", "named_modules", "state_dict", "load_state_dict"),
    *("zero_grad", "requires_grad_"),
)
# Fact: `Module.train` and `Module.eval`, which need no argument.
_MODES = ("train", "eval")
ASKED = frozenset({*_METHODS, *_MODES})
"""What shows that something is one."""


def is_used_as_one(context: Context, kept: ast.expr) -> bool:
    """Whether a name of the function, or an attribute of the object (in any of its methods), is
    asked for its parameters, its state or its mode."""
    if isinstance(kept, ast.Name):
        around: ast.AST | None = context.index.function(kept)
    elif isinstance(kept, ast.Attribute) and isinstance(kept.value, ast.Name):
        around = context.index.enclosing(kept, ast.ClassDef)
    else:
        return False
    spelled = ast.unparse(kept)
    return any(
        isinstance(call.func, ast.Attribute)
        and (method in _METHODS or not (call.args or call.keywords))
        and ast.unparse(call.func.value) == spelled
        and _around(context, call, kept) is around
        for method in (*_METHODS, *_MODES)
        for call in context.index.calls.get(method, ())
    )


def _around(context: Context, call: ast.Call, kept: ast.expr) -> ast.AST | None:
    if isinstance(kept, ast.Name):
        return context.index.function(call)
    return context.index.enclosing(call, ast.ClassDef)
