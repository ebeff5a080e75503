"""The texts of a project's modules, kept up to so many bytes: each is searched for one name after
the other, and to read them anew each time takes longer than the search."""

from __future__ import annotations

from collections.abc import Callable, Collection

_MOST_BYTES = 48_000_000
"""Most projects have a tenth of this."""


class KeptTexts:
    def __init__(self) -> None:
        self._known: dict[str, bytes | None] = {}
        self._bytes = 0

    def take_over(self, known: KeptTexts, changed: Collection[str]) -> None:
        """Takes over those of another one, but for the `changed` files."""
        for path, text in known._known.items():
            if path not in changed:
                self._put(path, text)

    def of(self, path: str, read: Callable[[str], bytes | None]) -> bytes | None:
        """The text of a file, which is read if it is not known; what was read first goes first
        where it is too much."""
        if path not in self._known:
            self._put(path, read(path))
        return self._known[path]

    def _put(self, path: str, text: bytes | None) -> None:
        self._bytes += len(text or b"") - len(self._known.pop(path, None) or b"")
        self._known[path] = text
        while self._bytes > _MOST_BYTES and len(self._known) > 1:
            self._bytes -= len(self._known.pop(next(iter(self._known))) or b"")
