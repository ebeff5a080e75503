"""Which files of a project run where a program has wrapped its model in `DataParallel`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.semantics.processes.parallel_batches import (
    SPEAKING_OF_MODES,
    WRAPPING,
    always_wraps,
    left_to_wrapper,
)

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Iterable, Iterator


class WrappedRuns:
    def __init__(
        self,
        starting: Iterable[str],
        text_of: Callable[[str], bytes],
        tree_of: Callable[[str], ast.Module | None],
        led_to: Callable[[str], Iterable[str]],
    ) -> None:
        """`starting` are the files that may be programs; `led_to` gives the modules that a file
        imports, and they in turn."""
        self._starting = starting
        self._text_of = text_of
        self._tree_of = tree_of
        self._led_to = led_to
        self._known: tuple[set[str], set[str]] | None = None

    def left_in(self, path: str) -> Iterator[ast.Call]:
        """The calls in a file that are given what only the wrapper has moved."""
        if not any(word in self._text_of(path) for word in SPEAKING_OF_MODES):
            return
        some, always = self._files()
        tree = self._tree_of(path) if path in some else None
        if tree is not None:
            yield from left_to_wrapper(tree, always=path in always)

    def _files(self) -> tuple[set[str], set[str]]:
        """The files that programs with `DataParallel` are made of; and of those that have it on
        each machine."""
        if self._known is None:
            users = [path for path in self._starting if WRAPPING in self._text_of(path)]
            trees = [(path, self._tree_of(path)) for path in users]
            always = [path for path, tree in trees if tree is not None and always_wraps(tree)]
            self._known = self._made_of(users), self._made_of(always)
        return self._known

    def _made_of(self, programs: list[str]) -> set[str]:
        return set(programs).union(*map(self._led_to, programs))
