"""Take away an `if cuda:` whose whole body moves things to the GPU.

`.to(device)` is right on every machine, so nothing is left to ask. A flag that the user may
switch off (`--no-cuda`) is asked by the selection instead, which then stands behind the flag.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Edit, Fix
from mpslint.patterns.chain import user_switch
from mpslint.patterns.selection import Reference, reference, torch_name, wrapped_chain
from mpslint.patterns.text import alone_on_lines, insert, quote, replace_span

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def open_gate(context: Context, gate: ast.If) -> Fix | None:
    """Dedent the body of `gate` with every `.cuda()` in it as `.to(device)`.

    None where the body does anything else, or another arm does.
    """
    from mpslint.patterns.moves import rewrite_call

    calls = _moves_only(context, gate)
    if calls is None:
        return None
    device = _device_for(context, gate)
    if device is None:
        return None
    rewritten: list[Edit] = []
    for call in calls:
        edits = rewrite_call(context, call, device)
        if edits is None:
            return None
        rewritten += edits
    dedented = dedent_body(context, gate, rewritten)
    if dedented is None:
        return None
    return Fix("Move to the selected device", (*device.edits, dedented), Applicability.SAFE)


def _moves_only(context: Context, gate: ast.If) -> list[ast.Call] | None:
    """The `.cuda()` calls of a body that does nothing else; None for any other body."""
    if gate.orelse and not all(isinstance(item, ast.Pass) for item in gate.orelse):
        return None
    calls: list[ast.Call] = []
    for statement in gate.body:
        values: list[ast.expr]
        if isinstance(statement, ast.Expr):
            values = [statement.value]
        elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            value = statement.value
            values = value.elts if isinstance(value, ast.Tuple) else [value]
        else:
            return None
        for value in values:
            if not _is_move(value):
                return None
            assert isinstance(value, ast.Call)
            calls.append(value)
    return calls


def _is_move(value: ast.expr) -> bool:
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr == "cuda"
        and not any(isinstance(n, ast.Call) for n in ast.walk(value.func.value))
    )


def _device_for(context: Context, gate: ast.If) -> Reference | None:
    """A device that is CUDA exactly where the gate's test holds."""
    switch = user_switch(context, gate.test, inverted=False)
    if switch is None:
        return reference(context, gate)
    at_hand = context.devices.at_hand(gate)
    if at_hand is not None and at_hand.value.devices is not None:
        return Reference(at_hand.text, at_hand.is_string, ())
    return _behind_flag(context, gate, switch)


def _behind_flag(context: Context, gate: ast.If, switch: str) -> Reference | None:
    """A selection that asks the user's flag, placed right behind the flag's assignment."""
    test = gate.test
    torch = torch_name(context, gate)
    definition = _definition(context, test)
    name = context.settings.device_name
    if definition is None or torch is None or not alone_on_lines(context.source, definition):
        return None
    if any(bound == name for bound, _ in context.names.every_binding()):
        return None
    source = context.source
    flag, mark = source.segment(test), quote(context.source)
    cuda = (
        flag
        if "cuda" in context.guards.implied(test, True)
        else f"{flag} and {torch}.cuda.is_available()"
    )
    indent = source.indentation(definition.lineno)
    text = (
        f"{mark}cuda{mark} if {cuda} else "
        f"{mark}mps{mark} if {switch} and {torch}.backends.mps.is_available() else {mark}cpu{mark}"
    )
    head = f"{name} = {torch}.device("
    laid_out = wrapped_chain(context, text, indent, len(indent) + len(head) + 1)
    if laid_out.startswith("("):
        laid_out = laid_out[1:-1]
    row = definition.end_lineno or definition.lineno
    offset = source.starts[row] if row < len(source.starts) else len(source.text)
    lead = (
        source.newline
        if offset == len(source.text) and not source.text.endswith(("\n", "\r"))
        else ""
    )
    line = f"{lead}{indent}{head}{laid_out}){source.newline}"
    return Reference(name, False, (insert(offset, line),))


def _definition(context: Context, test: ast.expr) -> ast.stmt | None:
    """The only assignment of the flag, where it surely runs before the gate in one scope."""
    if isinstance(test, ast.Name):
        bindings = context.flow.reaching(test)
        if len(bindings) != 1 or bindings[0].kind != "assign":
            return None
        found = context.index.statement(bindings[0].node)
    elif isinstance(test, ast.Attribute):
        values = context.guards.assigned(test)
        if len(values) != 1:
            return None
        found = context.index.statement(values[0])
    else:
        return None
    same_scope = context.names.scope_of(found) is context.names.scope_of(test)
    module_level = isinstance(context.index.parents[found], ast.Module)
    return (
        found if (same_scope or module_level) and context.index.parents[found] is not None else None
    )


def dedent_body(context: Context, gate: ast.If, edits: list[Edit]) -> Edit | None:
    """The `if` statement as its body alone, one level out, comments and all.

    libcst gives the lines of the body with their own comments; the inner edits are applied on
    the way.
    """
    import libcst as cst

    source = context.source
    if not alone_on_lines(source, gate.body[-1]) or gate.body[0].lineno == gate.lineno:
        return None
    start, end = source.span(gate)
    text = source.text
    pieces, at = [], start
    for edit in sorted(edits):
        pieces += [text[at : edit.start], edit.text]
        at = edit.end
    pieces.append(text[at:end])
    indent = source.indentation(gate.lineno)
    try:
        module = cst.parse_module(_flush("".join(pieces), indent, source.newline))
    except cst.ParserSyntaxError:
        return None
    statement = module.body[0]
    if not isinstance(statement, cst.If) or not isinstance(statement.body, cst.IndentedBlock):
        return None
    block = statement.body
    lines: list[cst.BaseStatement] = list(block.body)
    header_comment = block.header.comment
    if lines and header_comment is not None:
        first = lines[0]
        lead = cst.EmptyLine(comment=header_comment)
        lines[0] = first.with_changes(leading_lines=[lead, *_leading(first)])
    code = module.with_changes(body=lines, footer=[]).code
    footer = "".join(
        module.code_for_node(line).strip() + source.newline for line in block.footer if line.comment
    )
    flat = (code + footer).rstrip("\r\n")
    if module.code.count("#") != flat.count("#"):
        return None
    rows = flat.split(source.newline)
    body = source.newline.join(
        [rows[0], *(indent + row if row.strip() else row for row in rows[1:])]
    )
    return replace_span(source, start, end, body)


def _leading(statement: object) -> list[object]:
    return list(getattr(statement, "leading_lines", ()))


def _flush(text: str, indent: str, newline: str) -> str:
    """The statement as if it stood at the left margin."""
    rows = text.split(newline)
    flushed = [row[len(indent) :] if row.startswith(indent) else row for row in rows[1:]]
    return newline.join([rows[0], *flushed]) + newline
