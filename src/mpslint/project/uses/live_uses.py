"""Which mentions of a function are uses: those that somebody comes to.

What stands in a function or class that nobody uses in turn happens on no machine. How far users of
users are asked is limited by steps, so that an answer does not hang on the order of the questions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol
from weakref import WeakMethod

from mpslint.semantics.uses.leftovers import Leftovers
from mpslint.semantics.uses.never_chosen import is_never_chosen

if TYPE_CHECKING:
    import ast

    from mpslint.semantics.context import Context
    from mpslint.semantics.elsewhere.elsewhere import Given, Outcome

_MOST_LEFT = 8
"""Of what so many others name that nobody uses, somebody may yet have a use for one."""


class Ask(Protocol):
    def __call__(
        self, path: str, name: str, *, method: bool, alive: bool, steps: int
    ) -> tuple[bool, tuple[str, ...]]: ...


class Refuse(Protocol):
    def __call__(
        self, path: str, given: Given, outcome: Outcome, kept: str
    ) -> tuple[bool, tuple[str, ...]]: ...


class LiveUses:
    def __init__(self, ask: Ask, *, alive: bool = False) -> None:
        self._is_alive = alive
        # Whoever is asked owns this, and goes without the collector.
        self._ask: WeakMethod[Ask] = WeakMethod(ask)
        self._refuse: WeakMethod[Refuse] | None = None
        self._fewer: dict[tuple[str, int], _Fewer] = {}
        self._asked: set[tuple[str, int]] = set()

    def ask_calls(self, refuse: Refuse) -> None:
        """Who is asked what a parameter is in all calls."""
        self._refuse = WeakMethod(refuse)

    def any_of(self, context: Context, uses: list[ast.expr], steps: int) -> bool:
        """Whether somebody comes to one of these places in a file, as far as so many `steps`
        tell."""
        if steps == 0 or len(uses) > _MOST_LEFT:
            return True
        key = context.source.path, steps
        if key not in self._fewer:
            self._fewer[key] = _Fewer(self._ask, self._refuse, steps - 1, self._is_alive)
        fewer = self._fewer[key]
        left = Leftovers(context, fewer, fewer.known)
        return any(
            not left.stand_at(use.lineno) and not self._is_shut(context, use, fewer) for use in uses
        )

    def _is_shut(self, context: Context, use: ast.expr, fewer: _Fewer) -> bool:
        """Whether a use stands in an arm that nobody opens. Who asks so while he is asked is not
        answered."""
        place = context.source.path, use.lineno
        if self._refuse is None or place in self._asked:
            return False
        self._asked.add(place)
        try:
            return is_never_chosen(context, use.lineno, fewer)
        finally:
            self._asked.discard(place)

    def rests_on(self, context: Context, steps: int) -> frozenset[str]:
        """The files that what was said of a file rests on. Who asks it may find it told."""
        fewer = self._fewer.get((context.source.path, steps))
        return frozenset(fewer.heard if fewer is not None else ())


class _Fewer:
    """The uses of what one file defines, asked with so many `steps`."""

    def __init__(
        self, ask: WeakMethod[Ask], refuse: WeakMethod[Refuse] | None, steps: int, is_alive: bool
    ) -> None:
        self._ask = ask
        self._refuse = refuse
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

    def refuses(self, path: str, given: Given, outcome: Outcome, kept: str) -> bool:
        refuse = self._refuse() if self._refuse is not None else None
        if refuse is None:
            return False
        answer, files = refuse(path, given, outcome, kept)
        self.heard.update(files)
        return answer
