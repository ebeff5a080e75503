"""The functions of a file that lead to the start of a process group, or to operators of CUDA's: by
themselves they name no device, and yet who calls them has gone through it."""

from __future__ import annotations

import ast
from collections.abc import Callable

from mpslint.semantics.syntax.expressions import taken_by
from mpslint.semantics.syntax.index import FUNCTIONS, walk
from mpslint.semantics.worlds.ranked_tests import STARTS, starts_group

_CALLS = 3
"""So many calls away."""


def leading_functions(
    tree: ast.Module, text: bytes, needs_operators: Callable[[str], bool] | None = None
) -> frozenset[ast.AST]:
    """The functions at the top of a file that name one which starts a process group, or which calls
    such operators, or one that names such a one, and so on. `needs_operators`: whether a module, or
    a name of it, as the file names it, may need such kernels; None: nothing that it leads to does.
    """
    if STARTS.encode() not in text and needs_operators is None:
        return frozenset()
    functions = [item for item in tree.body if isinstance(item, FUNCTIONS)]
    known = {item.name for item in functions if starts_group(item.body)}
    if needs_operators is not None:
        known |= _names_taken(tree, needs_operators)
        known |= {item.name for item in functions if _calls_kernels(item, needs_operators)}
    found: set[ast.AST] = set()
    for _ in range(_CALLS if known else 0):
        new = [item for item in functions if item not in found and _names_one(item, known)]
        if not new:
            break
        found.update(new)
        known.update(item.name for item in new)
    return frozenset(found)


def _names_taken(tree: ast.Module, needs_operators: Callable[[str], bool]) -> set[str]:
    """What a file calls that which it imports at its top and which may need kernels."""
    return {
        alias.asname or alias.name.partition(".")[0]
        for item in tree.body
        if isinstance(item, ast.Import | ast.ImportFrom)
        for alias in item.names
        if needs_operators(taken_by(item, alias))
    }


def _calls_kernels(function: ast.AST, needs_operators: Callable[[str], bool]) -> bool:
    for item in walk(function):
        if isinstance(item, ast.Attribute) and _is_library(item):
            return True
        if isinstance(item, ast.Import | ast.ImportFrom):
            if any(needs_operators(taken_by(item, alias)) for alias in item.names):
                return True
    return False


def _is_library(node: ast.Attribute) -> bool:
    """Whether this is `torch.ops`."""
    return node.attr == "ops" and isinstance(node.value, ast.Name) and node.value.id == "torch"


def _names_one(function: ast.AST, known: set[str]) -> bool:
    return any(isinstance(item, ast.Name) and item.id in known for item in walk(function))
