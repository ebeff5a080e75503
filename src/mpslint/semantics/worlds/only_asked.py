"""Devices that a function is given and only asks what they are: nothing is placed with them.

`dtype_for(torch.device("cuda"))` raises nothing where `dtype_for` compares `device.type`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.semantics.index import FunctionNode, walk
from mpslint.semantics.worlds.state import Env, Function

# Fact: torch.device has these two, of which neither is asked of the machine.
_TOLD = frozenset({"type", "index"})


def asked_alone(function: Function, given: Env) -> set[int]:
    """Those of the arguments, by `id`, of which a function only asks what they are."""
    return {id(given[name]) for name in _only_asked(function.node) if name in given}


def _only_asked(function: FunctionNode) -> Iterator[str]:
    """The parameters that a function compares, or their type, and does nothing else with."""
    arguments = function.args
    names = {item.arg: 0 for item in (*arguments.args, *arguments.kwonlyargs)}
    asked = dict.fromkeys(names, 0)
    for part in walk(function):
        if isinstance(part, ast.Name) and part.id in names:
            names[part.id] += 1
        elif isinstance(part, ast.Compare):
            for side in (part.left, *part.comparators):
                is_told = isinstance(side, ast.Attribute) and side.attr in _TOLD
                named = side.value if is_told else side  # type: ignore[attr-defined]
                if isinstance(named, ast.Name) and named.id in asked:
                    asked[named.id] += 1
    yield from (name for name, uses in names.items() if uses and uses == asked[name])
