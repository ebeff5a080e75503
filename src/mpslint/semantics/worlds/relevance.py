"""Which lines of a file can matter: what holds no word of devices need not be run."""

from __future__ import annotations

import ast
import bisect
from collections.abc import Iterable

from mpslint.facts.priors import wide_words

# A function without any of these words can neither do anything here nor tell the worlds apart.
_WORDS = tuple(
    word.encode()
    for word in [
        ".to(",
        "device",
        "mps",
        "cuda",
        "gpu",
        "nccl",
        "nvidia",
        "nvcc",
        "load(",
        "numpy",
        "double",
        "float64",
        "autocast",
        "scaler",
        "accelerat",
        "pin_memory",
        "complex128",
        "args.",
        "args,",
        "args)",
        "(args",
        "synchronize",
        "empty_cache",
        "is_available",
        "is_initialized",
        "torch.",
        "requires",
        "exit(",
        "seed",
        "skip",
        "import_module",
        "__import__",
        "find_spec",
        # NumPy makes float64 of these, which others bring to a device.
        ".zeros(",
        ".ones(",
        ".empty(",
        ".linspace(",
        ".arange(",
        ".array(",
        "np.random.",
        # A table of a module's tensors, which lie where the module does.
        "state_dict()",
    ]
)

OWN_MOVE = b"def cuda("
"""In a text: a class that has a `cuda` of its own."""


class Lines:
    """The lines of a text that can matter. Each word is looked for once, whoever asks."""

    __slots__ = ("_by_words", "_lower", "_starts")

    def __init__(self, text: bytes) -> None:
        self._lower = text.lower()
        self._starts = [0]
        position = text.find(b"\n") + 1
        while position > 0:
            self._starts.append(position)
            position = text.find(b"\n", position) + 1
        self._by_words = self._having((*_WORDS, *(word.lower() for word in wide_words())))

    def speaking(self, names: Iterable[str] = ()) -> list[int]:
        """Their numbers, in order; `names`: those of the file that stand for something of torch or
        for a function of its own that can."""
        more = self._having(name.lower().encode() for name in names)
        return sorted(self._by_words | more)

    def having(self, word: str) -> list[int]:
        """The numbers of those that have a word, in order, however it is spelled."""
        return sorted(self._having((word.lower().encode(),)))

    def _having(self, words: Iterable[bytes]) -> set[int]:
        lower, starts, size = self._lower, self._starts, len(self._lower)
        find, count = lower.find, len(starts)
        lines: set[int] = set()
        for word in words:
            position = find(word)
            while position >= 0:
                line = bisect.bisect_right(starts, position)
                lines.add(line)
                position = find(word, starts[line] if line < count else size)
        return lines


def matters(node: ast.AST, lines: list[int]) -> bool:
    """Whether one of these lines is one of `node`."""
    at = bisect.bisect_left(lines, node.lineno)  # type: ignore[attr-defined]
    return at < len(lines) and lines[at] <= node.end_lineno  # type: ignore[attr-defined]
