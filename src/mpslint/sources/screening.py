"""The first look at a file: bytes in which nothing speaks of torch are not our business, and a rule
whose words are absent has nothing to look at."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

TORCH_WORDS = (
    *(b"torch", b"accelerate", b"transformers", b"diffusers", b"lightning"),
    *(b"timm", b"ultralytics", b"fastai", b"open_clip"),
)
"""torch, and packages that are torch under another name: a program that only imports those still
chooses a device."""

_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789"
_SPACE = b" \t\n\r\f\v"
_DOT = ord(".")
_PATH = _LETTERS + b"."
_BEFORE = _SPACE + b"(\\"
"""What may stand between `=` and the path behind it."""
_TO = re.compile(rb"\bto[\s\\]*\(")
_TO_BLANKS = bytes(code if code in _LETTERS else 32 for code in range(256))


def speaks_of_torch(data: bytes) -> bool:
    """Whether a file of these bytes may use torch, name a device for others that do, or silence
    findings about such things."""
    return names_torch(data) or names_cuda_device(data) or names_us(data)


def names_torch(data: bytes) -> bool:
    return any(word in data for word in TORCH_WORDS)


def moves_something(data: bytes) -> bool:
    """Whether the file may hold `.to(...)`."""
    return _TO.search(data) is not None


def names_cuda_device(data: bytes) -> bool:
    """Whether the file may hold something like `device = "cuda"`: a project's configuration."""
    named = b"device" in data or b"DEVICE" in data
    return named and (b'"cuda' in data or b"'cuda" in data)


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
    # One expression for all of it tries each dot and `=` of the text: names are looked for instead.
    if any(_is_taken(data, at, at + len(name)) for name in names for at in _found(name, data)):
        return True
    imported = _imported(names)
    return any(
        imported.match(data, at)
        for at in _found(b"import", data)
        if data[at - 1 : at] not in _LETTERS or not at
    )


def _found(word: bytes, data: bytes) -> Iterator[int]:
    """Where a word begins that is no beginning of a longer one."""
    at = data.find(word)
    while at >= 0:
        end = at + len(word)
        if end == len(data) or data[end] not in _LETTERS:
            yield at
        at = data.find(word, end)


def _is_taken(data: bytes, start: int, end: int) -> bool:
    """Whether a name behind a dot is called, or is what `a = b.name` gives."""
    dot = start - 1
    while dot >= 0 and data[dot] in _SPACE:
        dot -= 1
    if dot < 0 or data[dot] != _DOT:
        return False
    while end < len(data) and data[end] in _SPACE:
        end += 1
    if data[end : end + 1] == b"(":
        return True
    at = first = start - 1
    if dot != first:
        return False
    while at and data[at - 1] in _PATH:
        at -= 1
    if at == first:
        return False
    while at and data[at - 1] in _BEFORE:
        at -= 1
    return data[at - 1 : at] == b"="


@lru_cache(512)
def _imported(names: frozenset[bytes]) -> re.Pattern[bytes]:
    name = b"(?:%s)\\b" % b"|".join(sorted(names))
    return re.compile(
        rb"import\b(?:[^\n\\]|\\\r?\n)*\b%s|import\s*\([^)]*\b%s" % (name, name),
    )


def _parted(group: tuple[bytes, ...]) -> tuple[frozenset[bytes], list[tuple[bytes, bytes]]]:
    """Words that are (part of) a name; the others (`.to(`), each with the longest name in it."""
    longest = {word: max(names_in(word), key=len, default=b"") for word in group}
    plain = frozenset(word for word in group if longest[word] == word)
    return plain, [(word, longest[word]) for word in group if word not in plain]


@lru_cache(4)
def _shortest(words: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """Those that are needed to find all: who holds `torch_scatter_cuda` holds `torch_scatter`."""
    return tuple(one for one in words if not any(two in one and two != one for two in words))


def holds_one(data: bytes, words: tuple[bytes, ...]) -> bool:
    """Whether one of these many words stands in a text."""
    return any(word in data for word in _shortest(words))


def imported_words(data: bytes) -> frozenset[bytes]:
    """All names on the lines by which a text imports."""
    lines = (line.lstrip() for line in data.split(b"\n"))
    found = [line for line in lines if line.startswith((b"import ", b"from "))]
    return frozenset(names_in(b"\n".join(found)))
