"""What the functions of a file give, kept by what they are given: a property that many expressions
ask for is worked out once.

It is kept only where working it out anew would give the same: nothing was cut short meanwhile,
since it was being answered already or was too far away, and it is near enough to whoever asks
again.
"""

from __future__ import annotations

from collections.abc import Callable

from mpslint.records import NamedTuple
from mpslint.semantics.wide.sample_values import Value

Entered = tuple[int, str, int]
Asked = tuple[int, int, tuple[tuple[str, "Value | None"], ...]]
"""The function, the class of whose objects it is a method, and what its parameters are given."""


class _Returned(NamedTuple):
    value: Value | None
    height: int
    """So many expressions stood in each other, where it was worked out."""
    entered: frozenset[Entered]
    """What was asked meanwhile."""


class KeptReturns:
    def __init__(self, busy: set[Entered], most: int) -> None:
        """`busy`: what is being answered; `most`: how many expressions may stand in each other."""
        self._busy, self._most = busy, most
        self._known: dict[Asked, _Returned] = {}
        self._trail: list[Entered] = []
        """What has been asked since nothing was being answered."""
        self._deepest = 0
        self.unsettled = 0
        """How often an answer was not the last word, but for what was being answered."""

    def enter(self, key: Entered) -> None:
        """Somebody asks something, which is busy from now on."""
        if not self._busy:
            self._trail.clear()
        self._busy.add(key)
        self._trail.append(key)

    def reach(self, depth: int) -> bool:
        """Whether so many expressions may stand in each other."""
        self._deepest = max(self._deepest, depth)
        if depth > self._most:
            self.unsettled += 1
        return depth <= self._most

    def of(
        self, asked: Asked, depth: int, cut: Callable[[], int], look: Callable[[], Value | None]
    ) -> Value | None:
        """What a function gives who asks from a `depth`. `cut` tells how often something was cut
        short; `look` works it out."""
        try:
            known = self._known.get(asked)
        except TypeError:
            return look()  # A table is among what it is given.
        if (
            known is not None
            and depth + known.height <= self._most
            and self._busy.isdisjoint(known.entered)
        ):
            self._deepest = max(self._deepest, depth + known.height)
            self._trail += known.entered
            return known.value
        before, start = (cut(), self.unsettled), len(self._trail) if self._busy else 0
        above, self._deepest = self._deepest, depth
        value = look()
        if before == (cut(), self.unsettled):
            entered = frozenset(self._trail[start:])
            self._known[asked] = _Returned(value, self._deepest - depth, entered)
        self._deepest = max(above, self._deepest)
        return value
