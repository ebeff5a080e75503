"""The nodes of some kinds in the trees of many files, of each of which little is asked: an index of
a whole tree costs several times as much."""

from __future__ import annotations

import ast
from collections.abc import Container

_NO_CHILDREN: frozenset[type] = frozenset(
    {ast.Load, ast.Store, ast.Del, int, str, bytes, float, bool, type(None)}
)
_LEAVES: frozenset[type] = frozenset({ast.Name, ast.Constant, type(None), str})


def of_kinds(top: ast.AST, kinds: Container[type[ast.AST]]) -> list[ast.AST]:
    """The nodes of these types in a tree that was parsed, the outer ones first, as `ast.walk`
    gives them."""
    found = []
    waiting: list[ast.AST] = [top]
    for node in waiting:  # It grows meanwhile.
        kind = node.__class__
        if kind in kinds:
            found.append(node)
        if kind in _LEAVES:
            continue
        if kind is ast.Attribute:
            waiting.append(node.value)  # type: ignore[attr-defined]
            continue
        for child in node.__dict__.values():
            inner = child.__class__
            if inner is list:
                waiting += child  # Some hold texts, or nothing for a missing node.
            elif inner not in _NO_CHILDREN:
                waiting.append(child)
    return found
