"""Whole statements: remove one, or put the body of an `if` in its place.

Here libcst does the work: it knows to which statement each comment and blank line belongs.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Edit
from mpslint.patterns.text import alone_on_lines, holds_comment, replace_span

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.source import SourceFile


def delete_statement(context: Context, statement: ast.stmt) -> Edit | None:
    """Remove a statement with its line; None where a comment or the whole block would go too."""
    source = context.source
    start = source.span(statement)[0]
    if len(context.index.block(statement)) == 1 or not alone_on_lines(source, statement):
        return None
    row = statement.end_lineno or statement.lineno
    line_end = source.starts[row] if row < len(source.starts) else len(source.text)
    if holds_comment(source, start, line_end):
        return None
    above, below = _blank_lines(source, statement.lineno, -1), _blank_lines(source, row, 1)
    first, last = statement.lineno, row
    # What stood around the statement is now one gap: keep the larger one.
    if above <= below:
        first -= above
    else:
        last += below
    line_end = source.starts[last] if last < len(source.starts) else len(source.text)
    return replace_span(source, source.starts[first - 1], line_end, "")


def _blank_lines(source: SourceFile, row: int, step: int) -> int:
    """How many blank lines follow (or precede) a row."""
    count = 0
    while 1 <= row + step <= len(source.starts) and not source.line(row + step).strip():
        row, count = row + step, count + 1
    return count


def dedent_body(context: Context, gate: ast.If, edits: list[Edit]) -> Edit | None:
    """Replace an `if` by its body, one level out, with `edits` applied to it.

    None where the statement shares its lines with others, or a comment would be lost.
    """
    import libcst as cst

    source = context.source
    start = source.span(gate)[0]
    if source.text[source.starts[gate.lineno - 1] : start].strip():
        return None  # `elif`, or behind another statement
    if gate.body[0].lineno == gate.lineno:
        return _behind_colon(source, gate, edits)
    last = (gate.orelse or gate.body)[-1]
    if not alone_on_lines(source, last):
        return None
    indent = source.indentation(gate.lineno)
    row = row_of_last_comment(source, last, indent)
    end = source.starts[row] if row < len(source.starts) else len(source.text)
    flushed = _flush(_applied(source.text, start, end, edits), indent, source.newline)
    try:
        module = cst.parse_module(flushed)
    except cst.ParserSyntaxError:
        return None
    if module.code != flushed or len(module.body) != 1:
        return None
    statement = module.body[0]
    if not isinstance(statement, cst.If) or not isinstance(statement.body, cst.IndentedBlock):
        return None
    flat = _body_code(module, statement, statement.body, source.newline)
    if flushed.count("#") != flat.count("#"):
        return None
    rows = flat.rstrip("\r\n").split(source.newline)
    lines = [rows[0], *(indent + line if line.strip() else line for line in rows[1:])]
    ending = source.newline if source.text[start:end].endswith(("\n", "\r")) else ""
    return replace_span(source, start, end, source.newline.join(lines) + ending)


def row_of_last_comment(source: SourceFile, last: ast.stmt, indent: str) -> int:
    """The last row of a block whose header stands at `indent`, with the comments that close it."""
    row = end = last.end_lineno or last.lineno
    while row < len(source.starts):
        row += 1
        line = source.line(row)
        inner = source.indentation(row)
        if line.strip() and not (line.lstrip().startswith("#") and len(inner) > len(indent)):
            break
        end = row if line.strip() else end
    return end


def _behind_colon(source: SourceFile, gate: ast.If, edits: list[Edit]) -> Edit | None:
    """`if cuda: x = x.cuda()` on one line, and an `else` of its own below: the body stays."""
    start, end = source.span(gate)
    body_start, body_end = source.span(gate.body[0])[0], source.span(gate.body[-1])[1]
    if holds_comment(source, start, end):
        return None
    return replace_span(source, start, end, _applied(source.text, body_start, body_end, edits))


def _body_code(module: object, statement: object, block: object, newline: str) -> str:
    """The statements of the block at the left margin, with the comment behind the colon first."""
    import libcst as cst

    assert isinstance(module, cst.Module)
    assert isinstance(block, cst.IndentedBlock)
    lines = list(block.body)
    if block.header.comment is not None and lines:
        first = lines[0]
        assert isinstance(first, cst.SimpleStatementLine | cst.BaseCompoundStatement)
        comment = cst.EmptyLine(comment=block.header.comment)
        lines[0] = first.with_changes(leading_lines=[comment, *first.leading_lines])
    code = module.with_changes(body=lines, header=[], footer=[]).code
    footer = [*block.footer, *module.footer]
    return code + "".join(
        line.comment.value + newline for line in footer if line.comment is not None
    )


def _applied(text: str, start: int, end: int, edits: list[Edit]) -> str:
    pieces, at = [], start
    for edit in sorted(edits):
        pieces += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join([*pieces, text[at:end]])


def _flush(text: str, indent: str, newline: str) -> str:
    """A statement that stands at `indent`, at the left margin."""
    first, *rest = text.split(newline)
    return newline.join([first, *(r[len(indent) :] if r.startswith(indent) else r for r in rest)])
