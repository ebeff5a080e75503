"""The first look at a file: bytes in which nothing speaks of torch are not our business, and a rule
whose words are absent has nothing to look at."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

TORCH_WORDS = (b"torch", b"accelerate", b"transformers", b"diffusers", b"lightning")
"""torch, and packages that are torch under another name: a program that only imports those still
chooses a device."""

_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789"
_TO_BLANKS = bytes(code if code in _LETTERS else 32 for code in range(256))


def speaks_of_torch(data: bytes) -> bool:
    """Whether a file of these bytes may use torch, name a device for others that do, or silence
    findings about such things."""
    return names_torch(data) or names_cuda_device(data) or names_us(data)


def names_torch(data: bytes) -> bool:
    return any(word in data for word in TORCH_WORDS)


def names_cuda_device(data: bytes) -> bool:
    """Whether the file may hold something like `device = "cuda"`: a project's configuration."""
    return b"device" in data and (b'"cuda' in data or b"'cuda" in data)


def names_us(data: bytes) -> bool:
    """Whether the file may hold a comment for mpslint, though there is nothing to silence."""
    return b"mpslint:" in data or (b"MPS" in data and b"noqa" in data)


def names_in(data: bytes) -> set[bytes]:
    """All that is written with letters, digits and underscores: names, keywords, numbers, and the
    words of strings and comments."""
    return set(data.translate(_TO_BLANKS).split())


class Demand:
    """What has to stand in a file that a rule can have a finding in."""

    __slots__ = ("_called", "_groups", "_names")

    def __init__(
        self,
        names: Iterable[bytes],
        groups: Iterable[tuple[bytes, ...]],
        *,
        called: bool = False,
    ) -> None:
        """One of `names` as a whole name (where there are any), and one word of each group; where
        the names are to be `called`, one that is, as far as the text around it says."""
        self._names = frozenset(names)
        self._called = called
        # What the names tell is asked before the text is searched.
        self._groups = sorted(map(_parted, groups), key=lambda parts: len(parts[1]))

    def words(self) -> Iterator[bytes]:
        """The words to look for among the names: those of the groups, as far as they are (part
        of) a name."""
        for plain, spelled in self._groups:
            yield from plain
            yield from (part for _, part in spelled)

    def met(self, data: bytes, names: set[bytes], present: set[bytes]) -> bool:
        """Whether a file meets it; `present` are those of `words` that stand among its names."""
        if self._names and self._names.isdisjoint(names):
            return False
        for plain, spelled in self._groups:
            if plain.isdisjoint(present):
                for word, part in spelled:
                    if part in present and word in data:
                        break
                else:
                    return False
        return not self._called or may_be_called(data, self._names & names)


def may_be_called(data: bytes, names: frozenset[bytes]) -> bool:
    """Whether one of these names of another module's functions is called (`torch.mode(x)`), or
    taken under a name of the file's own, by an import or an assignment."""
    return _call_of(names).search(data) is not None


@lru_cache(512)
def _call_of(names: frozenset[bytes]) -> re.Pattern[bytes]:
    name = b"(?:%s)\\b" % b"|".join(sorted(names))
    taken = (
        rb"\.\s*%s\s*\(",
        rb"\bimport\b(?:[^\n\\]|\\\r?\n)*\b%s",
        rb"\bimport\s*\([^)]*\b%s",
        rb"=[\s(\\]*[\w.]+\.%s",
    )
    return re.compile(b"|".join(form % name for form in taken))


def _parted(group: tuple[bytes, ...]) -> tuple[frozenset[bytes], list[tuple[bytes, bytes]]]:
    """Words that are (part of) a name; the others (`.to(`), each with the longest name in it."""
    longest = {word: max(names_in(word), key=len, default=b"") for word in group}
    plain = frozenset(word for word in group if longest[word] == word)
    return plain, [(word, longest[word]) for word in group if word not in plain]
