"""Which mentions of a function are uses: those that somebody comes to.

What stands in a function or class that nobody uses in turn happens on no machine. How far users of
users are asked is limited by steps, so that an answer does not hang on the order of the questions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol
from weakref import WeakMethod

from mpslint.semantics.uses.leftovers import Leftovers

if TYPE_CHECKING:
    import ast

    from mpslint.semantics.context import Context

_MOST_LEFT = 8
"""Of what so many others name that nobody uses, somebody may yet have a use for one."""


class Ask(Protocol):
    def __call__(
        self, path: str, name: str, *, method: bool, alive: bool, steps: int
    ) -> tuple[bool, tuple[str, ...]]: ...


class LiveUses:
    def __init__(self, ask: Ask, *, alive: bool = False) -> None:
        self._is_alive = alive
        # Whoever is asked owns this, and goes without the collector.
        self._ask: WeakMethod[Ask] = WeakMethod(ask)
        self._fewer: dict[tuple[str, int], _Fewer] = {}

    def any_of(self, context: Context, uses: list[ast.expr], steps: int) -> bool:
        """Whether somebody comes to one of these places in a file, as far as so many `steps`
        tell."""
        if steps == 0 or len(uses) > _MOST_LEFT:
            return True
        key = context.source.path, steps
        if key not in self._fewer:
            self._fewer[key] = _Fewer(self._ask, steps - 1, self._is_alive)
        fewer = self._fewer[key]
        left = Leftovers(context, fewer, fewer.known)
        return any(not left.stand_at(use.lineno) for use in uses)

    def rests_on(self, context: Context, steps: int) -> frozenset[str]:
        """The files that what was said of a file rests on. Who asks it may find it told."""
        fewer = self._fewer.get((context.source.path, steps))
        return frozenset(fewer.heard if fewer is not None else ())


class _Fewer:
    """The uses of what one file defines, asked with so many `steps`."""

    def __init__(self, ask: WeakMethod[Ask], steps: int, is_alive: bool) -> None:
        self._ask = ask
        self._is_alive = is_alive
        self._steps = steps
        self._answers: dict[tuple[str, bool], bool] = {}
        self.known: dict[tuple[str, int, int], bool] = {}
        self.heard: set[str] = set()

    def uses(self, path: str, name: str, *, method: bool, alive: bool = False) -> bool:
        """`alive` is as it was for who asked first."""
        if (name, method) not in self._answers:
            ask = self._ask()
            assert ask is not None
            answer, files = ask(path, name, method=method, alive=self._is_alive, steps=self._steps)
            self._answers[name, method] = answer
            self.heard.update(files)
        return self._answers[name, method]
