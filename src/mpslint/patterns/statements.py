"""Whole statements: remove one, or put the body of an `if` in its place.

Rows that all lose one margin say by themselves what becomes of them. For the rest libcst does the
work: it knows to which statement each comment and blank line belongs.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import TYPE_CHECKING

from mpslint.model import Edit
from mpslint.patterns.margins import moved_out
from mpslint.patterns.text import alone_on_lines, holds_comment, replace_span

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.sources.source import SourceFile


def delete_statement(
    context: Context, statement: ast.stmt, going: Collection[ast.AST] = ()
) -> Edit | None:
    """Remove a statement with its line; None where a comment or the whole block would go too.

    `going` are statements that others remove with it: what stood around a run of them is one gap.
    """
    source, block = context.source, context.index.block(statement)
    start = source.span(statement)[0]
    if not alone_on_lines(source, statement):
        return None
    row = statement.end_lineno or statement.lineno
    line_end = source.starts[row] if row < len(source.starts) else len(source.text)
    run = _run(source, block, statement, going)
    if len(run) == len(block) or holds_comment(source, start, line_end):
        return None
    head, tail = run[0].lineno, run[-1].end_lineno or run[-1].lineno
    above, below = _blank_lines(source, head, -1), _blank_lines(source, tail, 1)
    first, last = statement.lineno, row
    # What stood around the statements is now one gap: keep the larger one.
    if statement is not run[0] or above <= below:
        first -= _blank_lines(source, first, -1)
    if statement is run[-1] and above > below:
        last += below
    line_end = source.starts[last] if last < len(source.starts) else len(source.text)
    return replace_span(source, source.starts[first - 1], line_end, "")


def _run(
    source: SourceFile, block: list[ast.stmt], statement: ast.stmt, going: Collection[ast.AST]
) -> list[ast.stmt]:
    """The statements around this one that go too, with nothing but blank lines between them."""
    at = next(number for number, item in enumerate(block) if item is statement)
    first = last = at
    while first and block[first - 1] in going and _adjacent(source, *block[first - 1 : first + 1]):
        first -= 1
    while (
        last + 1 < len(block)
        and block[last + 1] in going
        and _adjacent(source, *block[last : last + 2])
    ):
        last += 1
    return block[first : last + 1]


def _adjacent(source: SourceFile, one: ast.stmt, two: ast.stmt) -> bool:
    row = one.end_lineno or one.lineno
    return row + 1 + _blank_lines(source, row, 1) == two.lineno


def _blank_lines(source: SourceFile, row: int, step: int) -> int:
    """How many blank lines follow (or precede) a row."""
    count = 0
    while 1 <= row + step <= len(source.starts) and not source.line(row + step).strip():
        row, count = row + step, count + 1
    return count


def can_dedent(context: Context, gate: ast.If, *, other_arm: bool = False) -> bool:
    """Whether `dedent_body` has a body to put in the place of `gate`: none shares its lines with
    other statements, and no comment stands in what goes. Asked before there is a fix to write, so
    it reads the tree and the text only."""
    source = context.source
    start = source.span(gate)[0]
    if source.text.startswith("elif", start):
        return False
    if source.text[source.starts[gate.lineno - 1] : start].strip():
        return False  # behind another statement
    if gate.body[0].lineno == gate.lineno:
        return not other_arm and not holds_comment(source, *source.span(gate))
    if not alone_on_lines(source, (gate.orelse or gate.body)[-1]):
        return False
    test_end = source.span(gate.test)[1]
    opens = _behind_header(source, test_end, gate.body[0])
    if not other_arm:
        going = source.text[start:opens] + _behind_arm(source, gate)
        return _starts_below(source, opens, gate.body[0]) and "#" not in going
    if not gate.orelse:
        return False
    header = _else_row(source, gate)
    opens = _behind_header(source, source.starts[header - 1], gate.orelse[0])
    return _starts_below(source, opens, gate.orelse[0]) and "#" not in source.text[start:opens]


def _behind_header(source: SourceFile, at: int, first: ast.stmt) -> int:
    """Where the header of a block ends that ends behind `at`; `first` is the block's statement."""
    return source.text.index(":", at, source.span(first)[0]) + 1


def _starts_below(source: SourceFile, opens: int, first: ast.stmt) -> bool:
    return source.position(opens)[0] < source.position(source.span(first)[0])[0]


def _else_row(source: SourceFile, gate: ast.If) -> int:
    """The row of the `else` or `elif` of a choice that has one."""
    row = (gate.body[-1].end_lineno or gate.body[-1].lineno) + 1
    while not source.line(row).lstrip().startswith(("else", "elif")):
        row += 1
    return row


def _behind_arm(source: SourceFile, gate: ast.If) -> str:
    """What goes behind the first arm: the other one, with the comments at its margin."""
    if not gate.orelse:
        return ""
    indent, row = source.indentation(gate.lineno), gate.body[-1].end_lineno or gate.lineno
    header = _else_row(source, gate)
    while row + 1 < header:
        row += 1
        if source.line(row).strip() and len(source.indentation(row)) <= len(indent):
            header = row  # The comments from here on speak of the other arm.
    end = _end_of(source, gate)
    return source.text[source.starts[header - 1] : end]


def _end_of(source: SourceFile, gate: ast.If) -> int:
    """Where the lines of a choice end, with the comments that close its last block."""
    row = row_of_last_comment(
        source, (gate.orelse or gate.body)[-1], source.indentation(gate.lineno)
    )
    return source.starts[row] if row < len(source.starts) else len(source.text)


def dedent_body(
    context: Context, gate: ast.If, edits: list[Edit], *, other_arm: bool = False
) -> Edit | None:
    """Replace an `if` by its body, or that of its `else`, one level out, with `edits` applied.

    None where the statement shares its lines with others, or a comment would be lost.
    """
    if not can_dedent(context, gate, other_arm=other_arm):
        return None
    source = context.source
    if gate.body[0].lineno == gate.lineno:
        return _behind_colon(source, gate, edits)
    return _by_margins(source, gate, edits, other_arm=other_arm) or _by_libcst(
        source, gate, edits, other_arm=other_arm
    )


def _by_margins(
    source: SourceFile, gate: ast.If, edits: list[Edit], *, other_arm: bool
) -> Edit | None:
    """The same by the rows alone, where they say enough."""
    arm, indent = gate.orelse if other_arm else gate.body, source.indentation(gate.lineno)
    opens = _behind_header(
        source,
        source.starts[_else_row(source, gate) - 1] if other_arm else source.span(gate.test)[1],
        arm[0],
    )
    top, bottom = source.position(opens)[0] + 1, row_of_last_comment(source, arm[-1], indent)
    if source.text[opens : source.starts[top - 1]].strip():
        return None  # a comment, which goes below the header
    cuts = moved_out(source, arm, (top, bottom), indent)
    if cuts is None:
        return None
    first = source.starts[top - 1]
    after = source.starts[bottom] if bottom < len(source.starts) else len(source.text)
    for edit in edits:
        across = source.text[edit.start : edit.end] + edit.text
        if not first <= edit.start <= edit.end <= after or "\n" in across or "\r" in across:
            return None
    start, end = source.span(gate)[0], _end_of(source, gate)
    text = _applied(source.text, first, after, [*edits, *cuts]).rstrip("\r\n")
    ending = source.newline if source.text[start:end].endswith(("\n", "\r")) else ""
    return replace_span(source, start, end, text.removeprefix(indent) + ending)


def _by_libcst(
    source: SourceFile, gate: ast.If, edits: list[Edit], *, other_arm: bool
) -> Edit | None:
    import libcst as cst

    start, end = source.span(gate)[0], _end_of(source, gate)
    indent = source.indentation(gate.lineno)
    flushed = _flush(_applied(source.text, start, end, edits), indent, source.newline)
    try:
        module = cst.parse_module(flushed)
    except cst.ParserSyntaxError:
        return None
    if module.code != flushed or len(module.body) != 1:
        return None
    statement = module.body[0]
    arm = statement.orelse if other_arm and isinstance(statement, cst.If) else statement
    if not isinstance(arm, cst.If | cst.Else) or not isinstance(arm.body, cst.IndentedBlock):
        return None
    flat = _body_code(module, arm.body, source.newline)
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


def _behind_colon(source: SourceFile, gate: ast.If, edits: list[Edit]) -> Edit:
    """`if cuda: x = x.cuda()` on one line, and an `else` of its own below: the body stays."""
    start, end = source.span(gate)
    body_start, body_end = source.span(gate.body[0])[0], source.span(gate.body[-1])[1]
    return replace_span(source, start, end, _applied(source.text, body_start, body_end, edits))


def _body_code(module: object, block: object, newline: str) -> str:
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
