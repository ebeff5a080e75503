"""Files from before Python 3.7, in which `async` was a name: `x.cuda(async=True)`.

No Python of today parses them. They are read as they were meant, with positions and bytes as they
are, so that all that is to be said of them can be.
"""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

WORD = "async"
# Fact: Python's grammar since 3.7, what follows the keyword.
_MAY_BE_A_NAME = re.compile(r"\basync\b(?!\s+(?:def|for|with)\b)")
_FOLLOWED_BY = ("def", "for", "with")
_SPELLED = "qxzjkw"
"""Letters of a name that takes the place of `async` while the file is parsed."""


def places(text: str) -> tuple[int, ...]:
    """The offsets at which `async` is a name; none in what Python 3.7 and later can parse."""
    if WORD not in text or not _MAY_BE_A_NAME.search(text):
        return ()
    import tokenize

    starts = [0]
    for line in io.StringIO(text, newline=""):
        starts.append(starts[-1] + len(line))
    found = []
    before: int | None = None
    try:
        for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline):
            if before is not None and token.string not in _FOLLOWED_BY:
                found.append(before)
            before = None
            if token.string == WORD:
                before = starts[token.start[0] - 1] + token.start[1]
    except (tokenize.TokenError, SyntaxError):
        return ()
    # A string of one word is no name, and where rows are counted otherwise nothing is known.
    return tuple(at for at in found if text[at : at + len(WORD)] == WORD)


def substituted(text: str) -> tuple[str, str] | None:
    """The text with another name in those places, and that name, which is as long and nowhere
    else in the text; None where there is nothing to replace, or no such name."""
    found = places(text)
    name = next((name for name in _names() if name not in text), None) if found else None
    if name is None:
        return None
    for at in reversed(found):
        text = text[:at] + name + text[at + len(WORD) :]
    return text, name


def _names() -> Iterator[str]:
    for letter in _SPELLED:
        yield letter * len(WORD)


def restore(tree: ast.AST, name: str) -> None:
    """Give what is called `name` in a tree the name that it has in the file."""
    import ast

    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            continue
        for field, value in ast.iter_fields(node):
            if isinstance(value, str) and name in value:
                setattr(node, field, value.replace(name, WORD))
            elif isinstance(value, list) and name in value:
                setattr(node, field, [WORD if item == name else item for item in value])
