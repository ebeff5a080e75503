"""The files of a project in whose texts a word stands.

Many questions look for one name in all texts of a project, and several of them for the same name:
each text is gone through once for a name, and an expression is tried only where the name stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

_Files = tuple[str, ...]
_LETTERS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789")


class WordHolders:
    """Has texts, which must be the same for as long as this is kept."""

    def __init__(self) -> None:
        self._holding: dict[_Files, dict[bytes, _Files]] = {}
        self._alone: dict[_Files, dict[bytes, _Files]] = {}

    def text(self, path: str) -> bytes | None:
        """The text of a file."""
        raise NotImplementedError

    def holding(self, files: _Files, word: bytes) -> _Files:
        """Those of `files`, in their order, that hold these bytes, be it in a longer word."""
        known = self._holding.setdefault(files, {})
        found = known.get(word)
        if found is None:
            text = self.text
            found = known[word] = tuple([one for one in files if word in (text(one) or b"")])
        return found

    def holding_alone(self, files: _Files, word: bytes) -> _Files:
        """Those that hold the word by itself."""
        known = self._alone.setdefault(files, {})
        found = known.get(word)
        if found is None:
            holding = [(one, self.text(one) or b"") for one in self.holding(files, word)]
            found = known[word] = tuple([one for one, data in holding if stands_alone(word, data)])
        return found


def stands_alone(word: bytes, data: bytes) -> bool:
    r"""Whether a word stands in a text by itself, as `\bword\b` would find it. An expression that
    begins so is tried at each place of the text, which takes many times as long."""
    if not word or word[0] not in _LETTERS or word[-1] not in _LETTERS:
        return _alone(word).search(data) is not None
    size, last = len(word), len(data)
    at = data.find(word)
    while at >= 0:
        end = at + size
        if (end == last or data[end] not in _LETTERS) and not is_in_word(data, at):
            return True
        at = data.find(word, at + 1)
    return False


def rows_with(word: bytes, data: bytes) -> Iterator[bytes]:
    """The rows of a text in which a word stands, each with its end."""
    at = data.find(word)
    while at >= 0:
        end = data.find(b"\n", at) + 1 or len(data)
        yield data[data.rfind(b"\n", 0, at) + 1 : end]
        at = data.find(word, end)


def is_torchs(word: bytes, data: bytes) -> bool:
    """Whether a word stands in a text as a name of torch's alone (`torch.Tensor`)."""
    return not stands_alone(word, data.replace(b"torch." + word, b""))


def is_in_word(data: bytes, at: int) -> bool:
    """Whether a word goes on at a place of a text that began before it."""
    return at > 0 and data[at - 1] in _LETTERS


@lru_cache(64)
def _alone(word: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"\b%s\b" % re.escape(word))
