"""Small helpers of the codemod: edits from nodes, indentation, line lengths, comments."""

from __future__ import annotations

import ast
import functools
import io
from collections import Counter
from typing import TYPE_CHECKING

from mpslint.model import Edit
from mpslint.patterns.conventions import conventions

if TYPE_CHECKING:
    from mpslint.sources.source import SourceFile


def replace(source: SourceFile, node: ast.AST, text: str) -> Edit:
    """Replace the text of a node."""
    start, end = source.span(node)
    return Edit(start, end, text, source.text[start:end])


def replace_span(source: SourceFile, start: int, end: int, text: str) -> Edit:
    return Edit(start, end, text, source.text[start:end])


def insert(offset: int, text: str) -> Edit:
    return Edit(offset, offset, text, "")


@functools.lru_cache(maxsize=2)
@functools.lru_cache(maxsize=2)
def indent_unit(source: SourceFile) -> str:
    """One level of indentation as the file mostly writes it (a docstring may indent otherwise);
    four spaces where it has none."""
    found: Counter[str] = Counter()
    for row in range(1, len(source.starts)):
        if not source.line(row).split("#")[0].rstrip().endswith(":"):
            continue
        outer, inner = source.indentation(row), source.indentation(row + 1)
        if source.line(row + 1).strip() and len(inner) > len(outer) and inner.startswith(outer):
            found[inner[len(outer) :]] += 1
    return found.most_common(1)[0][0] if found else "    "


@functools.lru_cache(maxsize=2)
def line_limit(source: SourceFile) -> int:
    """How long a line of this file may get: as its project's tools say, else its own longest line,
    within 88 to 120."""
    width = conventions(source.path).width
    if width is not None:
        return width
    longest = max((len(source.line(row)) for row in range(1, len(source.starts) + 1)), default=0)
    return min(max(longest, 88), 120)


def quote(source: SourceFile, near: ast.AST | None = None) -> str:
    """The quote character the file prefers (that of `near`, a string, where given)."""
    if near is not None:
        text = source.segment(near).lstrip("rRbBuUfF")
        if text[:1] in "'\"":
            return text[0]
    return _usual_quote(source)


@functools.lru_cache(maxsize=2)
def _usual_quote(source: SourceFile) -> str:
    return "'" if source.text.count("'") > source.text.count('"') else '"'


def holds_comment(source: SourceFile, start: int, end: int) -> bool:
    """Whether a comment stands in `text[start:end]`; true when that cannot be known."""
    text = source.text[start:end]
    if "#" not in text:
        return False
    import tokenize

    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(f"({text}\n)").readline))
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return True
    return any(token.type == tokenize.COMMENT for token in tokens)


def alone_on_lines(source: SourceFile, statement: ast.stmt) -> bool:
    """Whether a statement shares none of its lines with other code (a comment may follow)."""
    start, end = source.span(statement)
    row, _ = source.position(start)
    end_row, _ = source.position(end)
    before = source.text[source.starts[row - 1] : start]
    stop = source.starts[end_row] if end_row < len(source.starts) else len(source.text)
    after = source.text[end:stop].strip()
    return not before.strip(" \t\f") and (not after or after.startswith("#"))


def needs_parentheses(node: ast.AST, parent: ast.AST | None) -> bool:
    """Whether a conditional expression must be parenthesised in the place of `node`."""
    if isinstance(parent, ast.Call):
        return node is parent.func
    return not isinstance(
        parent,
        ast.Assign
        | ast.AnnAssign
        | ast.Return
        | ast.keyword
        | ast.arguments
        | ast.List
        | ast.Tuple
        | ast.Set
        | ast.Dict
        | ast.Expr
        | ast.NamedExpr,
    )


def missing_gap(rest: str) -> int:
    """How many blank lines must be added behind a function that `rest` follows."""
    if not rest.strip():
        return 0
    lines = rest.splitlines()
    blank = next(number for number, line in enumerate(lines) if line.strip())
    return max(2 - blank, 0)
