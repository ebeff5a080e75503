"""The functions of a file that lead to the start of a process group: by themselves they name no
device, and yet who calls them has gone through it."""

from __future__ import annotations

import ast

from mpslint.semantics.index import FUNCTIONS, walk
from mpslint.semantics.worlds.ranked_tests import STARTS, starts_group

_CALLS = 3
"""So many calls away."""


def leading_to_groups(tree: ast.Module, text: bytes) -> frozenset[ast.AST]:
    """The functions at the top of a file that name one which starts a process group, or one that
    names such a one, and so on."""
    if STARTS.encode() not in text:
        return frozenset()
    functions = [item for item in tree.body if isinstance(item, FUNCTIONS)]
    known = {item.name for item in functions if starts_group(item.body)}
    found: set[ast.AST] = set()
    for _ in range(_CALLS if known else 0):
        new = [item for item in functions if item not in found and _names_one(item, known)]
        if not new:
            break
        found.update(new)
        known.update(item.name for item in new)
    return frozenset(found)


def _names_one(function: ast.AST, known: set[str]) -> bool:
    return any(isinstance(item, ast.Name) and item.id in known for item in walk(function))
