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
        "torch.",
        "requires",
        "exit(",
        "seed",
        "skip",
        "import_module",
    ]
)


def lines_with_words(text: bytes, names: Iterable[str] = ()) -> list[int]:
    """The lines that can matter; `names`: those of the file that stand for something of torch or
    for a function of its own that can."""
    starts = [0]
    position = text.find(b"\n") + 1
    while position > 0:
        starts.append(position)
        position = text.find(b"\n", position) + 1
    lower, size = text.lower(), len(text)
    wide = (word.lower() for word in wide_words())
    words = (*_WORDS, *wide, *(name.lower().encode() for name in names))
    lines: set[int] = set()
    for word in words:
        position = lower.find(word)
        while position >= 0:
            line = bisect.bisect_right(starts, position)
            lines.add(line)
            position = lower.find(word, starts[line] if line < len(starts) else size)
    return sorted(lines)


def matters(node: ast.AST, lines: list[int]) -> bool:
    """Whether one of these lines is one of `node`."""
    at = bisect.bisect_left(lines, node.lineno)  # type: ignore[attr-defined]
    return at < len(lines) and lines[at] <= node.end_lineno  # type: ignore[attr-defined]
