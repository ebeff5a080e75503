"""What modules of a project mean, kept for a while.

A question about a project often asks the same modules as the one before it, so that dropping them
in between means to look at each anew for every question. What is known of a file takes many times
the bytes of its text, so they are bounded by these: of large ones fewer are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_LEAST = 8
"""So many are kept, however large they are."""
_MOST = 64
_BYTES = 600_000
"""Of the text of those that are kept: some thirty megabytes."""

_Key = tuple[str, type]
"""The path of a module, and who tells its context of other files."""


class KeptContexts:
    def __init__(self) -> None:
        self._known: dict[_Key, Context | None] = {}
        self._bytes = 0

    def __contains__(self, key: _Key) -> bool:
        return key in self._known

    def take(self, key: _Key) -> Context | None:
        """One that is kept: used last, it is dropped last."""
        context = self._known[key] = self._known.pop(key)
        return context

    def put(self, key: _Key, context: Context | None) -> None:
        """Keeps one, and forgets those that were not used for longest where that is too much."""
        self._bytes += _size(context)
        known = self._known
        while len(known) >= _LEAST and (len(known) >= _MOST or self._bytes > _BYTES):
            self._bytes -= _size(known.pop(next(iter(known))))
        known[key] = context


def _size(context: Context | None) -> int:
    return len(context.source.data) if context is not None else 0
