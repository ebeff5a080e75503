"""What a function hands on by `**kwargs`, of the arguments that it is given by name and has no
parameters for: `def run(step, **kwargs): return step(**kwargs)`.

They are kept beside the table by a name that nothing else can have: what else the function asks of
its table (`"device" in kwargs`) hangs on callers that nobody sees.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import walk
from mpslint.semantics.worlds.machines import ALL
from mpslint.semantics.worlds.values import MAPPING, NAMESPACE, Atom, Value, one

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mpslint.semantics.worlds.state import Env, FunctionNode

_READING = frozenset({"get", "items", "keys", "values", "copy"})
"""Methods that leave a table as it is."""


def handed_on(table: str) -> str:
    """The name by which what a table holds is kept."""
    return f"**{table}"


def not_taken(function: FunctionNode, names: Iterable[str], keywords: Env) -> Env:
    """The arguments that a call gives by name and that go into the table of a function which hands
    them on as they are, under their own name; empty: there are none."""
    table = function.args.kwarg
    if table is None or not keywords:
        return {}
    taken = {*names, *(item.arg for item in function.args.kwonlyargs)}
    rest = {name: value for name, value in keywords.items() if name not in taken}
    if not rest or not _is_only_handed_on(function, table.arg):
        return {}
    return {handed_on(table.arg): Atom(MAPPING, rest)}


def spread(env: Env, table: ast.expr, value: Value) -> Env:
    """What a call is given by `**table`, of which `value` is what else is known."""
    name = table.id if isinstance(table, ast.Name) else ""
    first = one(env.get(handed_on(name), value), ALL)
    if first.kind not in (MAPPING, NAMESPACE):
        return {}
    return {name: item for name, item in first.v.items() if isinstance(name, str)}


def _is_only_handed_on(function: FunctionNode, table: str) -> bool:
    """Whether a function spreads its table, and changes nothing in it."""
    uses = reads = spreads = 0
    for node in walk(function):
        if isinstance(node, ast.Name):
            uses += node.id == table
        elif isinstance(node, ast.keyword):
            spreads += node.arg is None and _is(node.value, table)
        elif isinstance(node, ast.Attribute):
            reads += node.attr in _READING and _is(node.value, table)
        elif isinstance(node, ast.Subscript):
            reads += isinstance(node.ctx, ast.Load) and _is(node.value, table)
        elif isinstance(node, ast.Compare):
            reads += any(_is(one, table) for one in node.comparators)
    return bool(spreads) and uses == reads + spreads


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
