"""Devices that a function is given and only asks what they are: nothing is placed with them.

`dtype_for(torch.device("cuda"))` raises nothing where `dtype_for` compares `device.type`.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from mpslint.semantics.syntax.index import FunctionNode
from mpslint.semantics.syntax.node_kinds import of_kinds
from mpslint.semantics.worlds.state import Env, Function

# Fact: torch.device has these two, of which neither is asked of the machine.
_TOLD = frozenset({"type", "index"})


def asked_alone(function: Function, given: Env) -> set[int]:
    """Those of the arguments, by `id`, of which a function only asks what they are."""
    asked = function.only_asked
    if asked is None:  # It is called from many places.
        asked = function.only_asked = frozenset(_only_asked(function.node))
    return {id(given[name]) for name in asked if name in given}


def _only_asked(function: FunctionNode) -> Iterator[str]:
    """The parameters that a function compares, or their type, and does nothing else with."""
    arguments = function.args
    asked = dict.fromkeys((item.arg for item in (*arguments.args, *arguments.kwonlyargs)), 0)
    if not asked:
        return
    nodes = of_kinds(function, (ast.Compare, ast.Name))
    for part in nodes:
        if isinstance(part, ast.Compare):
            for side in (part.left, *part.comparators):
                is_told = isinstance(side, ast.Attribute) and side.attr in _TOLD
                named = side.value if is_told else side  # type: ignore[attr-defined]
                if isinstance(named, ast.Name) and named.id in asked:
                    asked[named.id] += 1
    if any(asked.values()):
        uses = Counter(part.id for part in nodes if isinstance(part, ast.Name))
        yield from (name for name, times in asked.items() if times and times == uses[name])
