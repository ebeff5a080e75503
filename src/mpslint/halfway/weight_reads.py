"""Weights of a model that are turned into arrays where they lie.

`{key: value.numpy() for key, value in net.state_dict().items()}` copies nothing: it works as long
as the model is on the CPU, and raises TypeError once it is on a GPU.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable, Iterator, Sequence

from mpslint.facts.handed_tensors import HANDING
from mpslint.semantics.syntax.expressions import names_in
from mpslint.semantics.syntax.index import walk

_RAISES = "may be given a tensor on MPS, which raises TypeError"
_TO_HOST = frozenset({"cpu", "to"})
_MAX_TEXT = 60
_LOOPS = ast.For | ast.AsyncFor
_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_Names = frozenset[str]
_NONE: _Names = frozenset()

KINDS: frozenset[type[ast.AST]] = frozenset(
    {ast.Call, ast.For, ast.AsyncFor, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp}
)
"""The kinds of nodes that are asked for."""


def may_read(text: bytes) -> bool:
    """Whether a text may hold such a read: who moved the model there often stands elsewhere."""
    return b".numpy(" in text and any(name.encode() + b"(" in text for name in HANDING)


def read(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    """The rows of these reads; `nodes`: those of its `KINDS`."""
    found: dict[ast.Call, None] = {}
    for node in nodes:
        if isinstance(node, ast.Call):
            found.update(dict.fromkeys(_reads([node], _NONE, deep=False)))
        elif isinstance(node, _LOOPS):
            if _hands_out(node.iter):
                _run(node.body, _names(node.target), found)
        elif isinstance(node, _COMPREHENSIONS):
            drawn = (_names(one.target) for one in node.generators if _hands_out(one.iter))
            found.update(dict.fromkeys(_reads([node], _NONE.union(*drawn))))
    for call in sorted(found, key=lambda one: (one.lineno, one.col_offset)):
        yield call.lineno, f"{ast.unparse(call)[:_MAX_TEXT]} {_RAISES}"


def _run(block: Iterable[ast.stmt], drawn: _Names, found: dict[ast.Call, None]) -> _Names:
    """Follows the names that stand for weights through a block, to its reads; those after it."""
    for statement in block:
        bodies = [
            body
            for name in ("body", "orelse", "finalbody")
            if (body := getattr(statement, name, None))
        ]
        bodies += [one.body for one in getattr(statement, "handlers", ())]
        bodies += [one.body for one in getattr(statement, "cases", ())]
        inner = {id(one) for body in bodies for one in body}
        heads = [one for one in ast.iter_child_nodes(statement) if id(one) not in inner]
        found.update(dict.fromkeys(_reads(heads, drawn)))
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                drawn = _given(target, statement.value, drawn)
        at_start = drawn
        if isinstance(statement, _LOOPS):
            names = _names(statement.target)
            at_start = drawn | names if _hands_out(statement.iter) else drawn - names
        after = [_run(body, at_start, found) for body in bodies]
        if isinstance(statement, ast.With | ast.AsyncWith):
            drawn = after[0]
        elif isinstance(statement, ast.If) and statement.orelse:
            drawn = _NONE.union(*after)
        else:  # Whether any of it runs nobody knows.
            drawn = drawn.union(*after)
    return drawn


def _given(target: ast.expr, value: ast.expr, drawn: _Names) -> _Names:
    """The names that stand for weights once a target is given a value."""
    if isinstance(target, ast.Name) and _is_of_weights(value, drawn):
        return drawn | {target.id}
    return drawn - _names(target) if isinstance(target, ast.Name | ast.Tuple) else drawn


def _reads(nodes: Iterable[ast.AST], drawn: _Names, *, deep: bool = True) -> Iterator[ast.Call]:
    """The calls, or those in the nodes, that make an array of a weight."""
    for node in nodes:
        for call in walk(node) if deep else (node,):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                if call.func.attr == "numpy" and _is_of_weights(call.func.value, drawn):
                    yield call


def _names(target: ast.expr) -> _Names:
    return frozenset(names_in(target))


def _hands_out(node: ast.expr) -> bool:
    """`net.parameters()`, `enumerate(net.state_dict().items())`"""
    return any(
        isinstance(item, ast.Call)
        and isinstance(item.func, ast.Attribute)
        and item.func.attr in HANDING
        for item in walk(node)
    )


def _is_of_weights(node: ast.expr, drawn: Container[str]) -> bool:
    """Whether something is a weight, or made of one, and was not brought to the host."""
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                if node.func.attr in _TO_HOST:
                    return False
                if node.func.attr in HANDING:
                    return True
            node = node.func
        elif isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        else:
            return False
    return node.id in drawn
