"""Whether a call fits the parameters that it is for, as Python compares them."""

from __future__ import annotations

import ast

from mpslint.records import NamedTuple
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.parameters import positional_names, required_parameters

_NAMED = (*FUNCTIONS, ast.ClassDef)


class Signature(NamedTuple):
    """What a function can be given, or what makes an object of a class."""

    positional: tuple[str, ...]
    only_by_place: int
    """So many of them, the first, have no name for who calls."""
    by_name: frozenset[str]
    """Those that are given by name alone."""
    needed: frozenset[str]
    """Those that have no default."""
    takes_more: bool
    takes_names: bool


ANYTHING = Signature((), 0, frozenset(), frozenset(), True, True)
UNBOUND = Signature((), -1, frozenset(), frozenset(), False, False)
"""What a name can be given that stands for nothing: who asks for it gets `NameError`."""


def signature_of(parameters: ast.arguments, *, bound: bool = False) -> Signature:
    """`bound`: the first parameter is given already."""
    positional = positional_names(parameters)
    needed = {item.arg for item in required_parameters(parameters)}
    only_by_place = len(parameters.posonlyargs)
    if bound and positional:
        needed.discard(positional[0])
        positional, only_by_place = positional[1:], max(only_by_place - 1, 0)
    return Signature(
        tuple(positional),
        only_by_place,
        frozenset(item.arg for item in parameters.kwonlyargs),
        frozenset(needed),
        parameters.vararg is not None,
        parameters.kwarg is not None,
    )


def fits(signature: Signature, call: ast.Call) -> bool:
    """Whether a call may be one that Python makes. What `*` and `**` give may be anything."""
    if any(isinstance(item, ast.Starred) for item in call.args):
        return True
    if any(item.arg is None or item.arg.startswith("__") for item in call.keywords):
        return True  # Names that begin so are others inside a class.
    positional = signature.positional
    if len(call.args) > len(positional) and not signature.takes_more:
        return False
    given = set(positional[: len(call.args)])
    by_name = {*positional[signature.only_by_place :], *signature.by_name}
    for keyword in call.keywords:
        name = str(keyword.arg)
        if name in by_name:
            if name in given:
                return False
            given.add(name)
        elif not signature.takes_names:
            return False
    return given >= signature.needed


def way_to(root: ast.AST, wanted: ast.AST) -> list[ast.AST]:
    """The nodes from one down to another that stands in it, both among them; empty: it does not."""
    todo: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [(root, ())]
    while todo:
        node, above = todo.pop()
        way = (*above, node)
        if node is wanted:
            return list(way)
        todo += [(child, way) for child in ast.iter_child_nodes(node) if _holds(child, wanted)]
    return []


def _holds(node: ast.AST, wanted: ast.AST) -> bool:
    """Whether the rows of a node are around those of another; one that has none, such as the
    parameters of a function, may hold it."""
    first, last = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
    line: int = wanted.lineno  # type: ignore[attr-defined]
    if isinstance(node, _NAMED):
        first = min((item.lineno for item in node.decorator_list), default=first)
    return first is None or last is None or first <= line <= last
