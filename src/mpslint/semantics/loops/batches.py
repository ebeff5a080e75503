"""Loops over loaders: which names hold a whole batch and which one tensor of it."""

from __future__ import annotations

import ast

from mpslint.records import NamedTuple
from mpslint.semantics.loops.loops import Loop, Loops
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import Index

_WRAPPERS = ("tqdm", "enumerate", "track", "progress_bar", "iter", "islice", "notebook_tqdm")


class Batch(NamedTuple):
    """What a loop over a loader binds."""

    loop: Loop
    whole: str | None
    """The name of the batch, where it is not unpacked: a tensor, or a tuple or mapping of them."""
    parts: tuple[str, ...]
    """The names of its tensors, where the loop unpacks it."""
    source: ast.expr
    """The loader."""


class Batches:
    def __init__(self, index: Index, loops: Loops) -> None:
        self._index = index
        self._loops = loops
        self._found: list[Batch] | None = None

    @property
    def all(self) -> list[Batch]:
        """Every loop over a loader in the file."""
        if self._found is None:
            self._found = []
            for loop in self._index.of(ast.For):
                if self._loops.draws_batches(loop):
                    self._found.append(_batch(loop))
        return self._found

    def whole_at(self, name: str, node: ast.AST) -> bool:
        """Whether `name` at `node` is a batch as a loader gives it, in a loop around `node`."""
        return any(
            batch.whole == name and self._index.within(node, batch.loop) for batch in self.all
        )


def _batch(loop: ast.For) -> Batch:
    target, source = loop.target, loop.iter
    while isinstance(source, ast.Call) and source.args:
        name = last_name(source.func)
        if name not in _WRAPPERS:
            break
        if name == "enumerate" and isinstance(target, ast.Tuple) and len(target.elts) == 2:
            target = target.elts[1]
        source = source.args[0]
    if isinstance(target, ast.Name):
        return Batch(loop, target.id, (), source)
    parts = tuple(node.id for node in ast.walk(target) if isinstance(node, ast.Name))
    return Batch(loop, None, parts, source)
