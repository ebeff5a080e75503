"""Where the parameters of a module are: with the module, wherever that was moved."""

from __future__ import annotations

import ast

from mpslint.semantics.names.names import Names
from mpslint.semantics.syntax.index import FUNCTIONS, Index

_PARAMETERS = ("torch.nn.Parameter", "torch.nn.parameter.Parameter")


def moves_with_module(
    index: Index, names: Names, node: ast.Attribute, given: list[ast.expr]
) -> bool:
    """Whether `node` is read as a parameter outside of the method that makes it: by then the
    module, and what it holds, may have been moved."""
    around = index.enclosing(node, *FUNCTIONS)
    return bool(given) and all(
        isinstance(value, ast.Call)
        and names.resolve(value.func) in _PARAMETERS
        and index.enclosing(value, *FUNCTIONS) is not around
        for value in given
    )
