"""The page of a rule as a terminal shows it: a short first line, then sections in short lines.

The page itself is Markdown. Its code stays as it is written; a paragraph that lists many things,
parted by semicolons, is shown as a list of these and of its sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mpslint.output.cells import wrapped

_WIDE = 100
"""Columns where there is no terminal, and at most: longer lines are hard to read."""
_NARROW = 40
_MOST_IN_A_ROW = 2
"""A paragraph of so many semicolons, or more, is a list."""
_WORDS = re.compile(r"`[^`]*`|[()]|; (?:and )?|[.] (?=[A-Z`])|.")
"""Code, brackets, ends of clauses and of sentences, and whatever else."""


def laid_out(head: str, facts: str, page: str, url: str, width: int | None) -> str:
    """A page with its `head`, what is known of the rule at a glance (`facts`), and its address."""
    room = max(_NARROW, min(width or _WIDE, _WIDE))
    summary, _, rest = page.partition("\n")
    lines = [f"# {head}", "", *wrapped(summary, room), "", *wrapped(facts, room)]
    for block in _blocks(rest):
        lines += ["", *_shown(block, room)]
    return "\n".join([*lines, "", url])


def _blocks(page: str) -> Iterator[list[str]]:
    """Headings, paragraphs, items of lists, and code, each with its lines."""
    block: list[str] = []
    in_code = False
    for line in page.splitlines():
        if in_code or line.startswith("```"):
            if not in_code and block:
                yield block
                block = []
            block.append(line)
            ends = in_code and line.startswith("```")
            in_code = not ends
            if ends:
                yield block
                block = []
        elif line.startswith(("#", "- ", "* ")) or not line.strip():
            if block:
                yield block
            block = [line] if line.strip() else []
            if line.startswith("#"):
                yield block
                block = []
        else:
            block.append(line)
    if block:
        yield block


def _shown(block: list[str], room: int) -> Iterator[str]:
    first = block[0]
    if first.startswith("```"):
        yield from (f"    {line}".rstrip() for line in block if not line.startswith("```"))
        return
    if first.startswith("#") or first.startswith("|"):
        yield from block
        return
    text = " ".join(line.strip() for line in block)
    if text.startswith(("- ", "* ")):
        yield from _item(text[2:], room)
        return
    if text.count("; ") < _MOST_IN_A_ROW:
        yield from wrapped(text, room)
        return
    for part in _parts(text):
        yield from _item(part, room)


def _parts(text: str) -> Iterator[str]:
    """The clauses and sentences of a paragraph, but for those in brackets and in code."""
    part, depth = "", 0
    for found in _WORDS.finditer(text):
        word = found.group()
        depth += (word == "(") - (word == ")")
        if depth == 0 and len(word) > 1 and word[0] in ";.":
            yield part + word[0].replace(";", "")
            part = ""
        else:
            part += word
    if part:
        yield part


def _item(text: str, room: int) -> Iterator[str]:
    first, *rest = wrapped(text, room - 2)
    yield f"- {first}"
    yield from (f"  {line}" for line in rest)
