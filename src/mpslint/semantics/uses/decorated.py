"""What a decorator does for the function below it, where no Mac comes back from that."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.worlds.machines import MACS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def decorates_cudas_own(context: Context, decorator: ast.AST) -> bool:
    """Whether something decorates a function that needs what no port has: a `backward` that calls
    a compiled extension."""
    function = context.index.parents.get(decorator)
    if not isinstance(function, FUNCTIONS) or decorator not in function.decorator_list:
        return False
    return not context.worlds.comes_back(function) & MACS
