"""Batches that only `DataParallel` moves: it takes what a model is called with to CUDA's devices,
and hands it on as it is where there are none.

Seen from the loop: one part of the batch is moved by hand (the target), another is given to the
model as the loader made it. Where the model is wrapped whatever the machine has, that no part is
moved says the same: with one GPU as well it is the wrapper that does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.semantics.syntax.expressions import asks_for_name, last_name, names_in
from mpslint.semantics.syntax.index import FUNCTIONS, walk

_WRAPPER = "DataParallel"
WRAPPING = b"DataParallel("
SPEAKING_OF_MODES = (b"train", b"eval")
"""Words of a file in which there may be such calls."""
_MODES = frozenset(word.decode() for word in SPEAKING_OF_MODES)
"""What only a module is told, among the things that a batch is given to."""
_MOVES = frozenset({"to", "cuda"})


def always_wraps(tree: ast.Module) -> bool:
    """Whether a program wraps a model in `DataParallel` on each machine: no test decides it."""
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        if isinstance(node, ast.Call) and last_name(node.func) == _WRAPPER:
            return True
        if isinstance(node, ast.IfExp) or (
            isinstance(node, ast.If) and not asks_for_name(node.test)
        ):
            left.append(node.test)
        else:
            left.extend(ast.iter_child_nodes(node))
    return False


def left_to_wrapper(tree: ast.Module, *, always: bool = False) -> Iterator[ast.Call]:
    """Calls of a model with a part of a batch that nothing moves, where another part is moved; or,
    of a model that is `always` wrapped, where none is."""
    for function in walk(tree):
        if isinstance(function, FUNCTIONS):
            nodes = list(walk(function))
            models = {
                node.func.value.id
                for node in nodes
                if isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in _MODES
                and isinstance(node.func.value, ast.Name)
            }
            for loop in nodes if models else ():
                if isinstance(loop, ast.For):
                    yield from _left(loop, models, always)


def _left(loop: ast.For, models: set[str], always: bool) -> Iterator[ast.Call]:
    batch = names_in(loop.target)
    body = [node for statement in loop.body for node in ast.walk(statement)]
    for node in body:  # `input, target = batch`
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            if node.value.id in batch:
                batch |= set().union(*map(names_in, node.targets))
    moved = {
        name
        for node in body
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _MOVES
        for name in names_in(node.func.value)
    }
    changed = {
        name
        for node in body
        if isinstance(node, ast.Assign) and not isinstance(node.value, ast.Name)
        for target in node.targets
        for name in names_in(target)
    }
    for node in body if always or moved & batch else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            given = set(
                filter(None, map(_part_of, (*node.args, *(one.value for one in node.keywords))))
            )
            if node.func.id in models and given & batch - moved - changed:
                yield node


def _part_of(value: ast.expr) -> str | None:
    """The name of what a model is called with, as a whole or a part of: `targets[0]`, `*views`."""
    while isinstance(value, ast.Subscript | ast.Starred):
        value = value.value
    return value.id if isinstance(value, ast.Name) else None
