"""Add the MPS arm to a selection between CUDA and CPU, in the selection's own style."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Edit, Fix
from mpslint.patterns.selection import torch_name
from mpslint.patterns.text import (
    alone_on_lines,
    holds_comment,
    indent_unit,
    insert,
    line_limit,
    needs_parentheses,
    replace,
    replace_span,
)

if TYPE_CHECKING:
    from mpslint.semantics.chains import Chain
    from mpslint.semantics.context import Context

_MESSAGE = "Choose MPS where it is there"


def add_mps_arm(context: Context, chain: Chain) -> Fix | None:
    """The fix for a selection without MPS; None where its arms cannot be copied."""
    torch = torch_name(context, chain.node)
    if torch is None:
        return None
    if isinstance(chain.node, ast.IfExp):
        edits = _expression(context, chain, chain.node, torch)
    else:
        edits = _statement(context, chain, chain.node, torch)
    return Fix(_MESSAGE, edits, Applicability.SAFE) if edits else None


def mps_arm(context: Context, arm: ast.expr) -> str | None:
    """The text of a CUDA arm, with MPS in the place of CUDA and without its index."""
    source = context.source
    for literal in context.devices.literals:
        if literal.backend == "cuda" and context.index.within(literal.node, arm):
            start, end = source.span(arm)
            inner_start, inner_end = source.span(literal.node)
            text = source.segment(literal.node)
            mark = '"' if '"' in text else "'"
            head = source.text[start:inner_start]
            tail = source.text[inner_end:end]
            if tail.lstrip().startswith(","):
                # torch.device("cuda", index)
                if isinstance(arm, ast.Call) and len(arm.args) == 2:
                    tail = ")"
                else:
                    return None
            return f"{head}{mark}mps{mark}{tail}"
    return None


def mps_test(context: Context, chain: Chain, torch: str) -> str:
    """The test for MPS, with whatever else the user was asked (`--no-cuda`)."""
    test = f"{torch}.backends.mps.is_available()"
    asked = user_switch(context, chain.test, inverted=chain.inverted)
    return f"{asked} and {test}" if asked else test


def user_switch(context: Context, test: ast.expr, *, inverted: bool) -> str | None:
    """What a CUDA test asks beside the machine: `not args.no_cuda` of `not args.no_cuda and
    torch.cuda.is_available()`, read through the flag's only assignment. None: nothing."""
    source = context.source
    if inverted:
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return user_switch(context, test.operand, inverted=False)
        if "asked-cuda" in context.guards.implied(test, False):
            return f"not {_operand(context, test)}"
        return None
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        rest = [v for v in test.values if not context.guards.implied(v, True) & {"cuda"}]
        parts = [_operand(context, value) for value in rest]
        nested = [user_switch(context, v, inverted=False) for v in test.values if v not in rest]
        return " and ".join([*parts, *(n for n in nested if n)]) or None
    if isinstance(test, ast.Name):
        bindings = context.flow.reaching(test)
        values = [b.value for b in bindings if b.kind in ("assign", "annotate")]
        if len(bindings) == 1 and len(values) == 1 and values[0] is not None:
            if "cuda" in context.guards.implied(values[0], True):
                return user_switch(context, values[0], inverted=False)
        return source.segment(test) if not _is_machine(context, test) else None
    if isinstance(test, ast.Attribute):
        assigned = context.guards.assigned(test)
        if len(assigned) == 1 and "cuda" in context.guards.implied(assigned[0], True):
            return user_switch(context, assigned[0], inverted=False)
        return source.segment(test) if not _is_machine(context, test) else None
    return None


def _is_machine(context: Context, test: ast.expr) -> bool:
    return "cuda" in context.guards.implied(test, True)


def _operand(context: Context, node: ast.expr) -> str:
    text = context.source.segment(node)
    return f"({text})" if isinstance(node, ast.BoolOp | ast.IfExp) else text


def _cuda_test(context: Context, chain: Chain, torch: str) -> str:
    """The chain's own test; a mere switch is also held against the machine."""
    text = context.source.segment(chain.test)
    if not chain.asked_only:
        return text
    machine = f"{torch}.cuda.is_available()"
    if chain.inverted:
        return f"{_operand(context, chain.test)} or not {machine}"
    return f"{_operand(context, chain.test)} and {machine}"


# conditional expressions


def _expression(
    context: Context, chain: Chain, node: ast.IfExp, torch: str
) -> tuple[Edit, ...] | None:
    assert chain.cpu_arm is not None
    mps = mps_arm(context, chain.cuda_arm)
    source = context.source
    start, end = source.span(node)
    if mps is None or holds_comment(source, start, end):
        return None
    cpu, test = source.segment(chain.cpu_arm), mps_test(context, chain, torch)
    if chain.inverted:
        pieces = [source.segment(chain.cuda_arm), _turned(context, chain, torch)]
    else:
        pieces = [source.segment(chain.cuda_arm), _cuda_test(context, chain, torch)]
    parts = [pieces[0], f"if {pieces[1]}", f"else {mps}", f"if {test}", f"else {cpu}"]
    return (replace_span(source, start, end, _laid_out(context, node, parts)),)


def _turned(context: Context, chain: Chain, torch: str) -> str:
    """The opposite of an inverted test, so that CUDA comes first."""
    test = chain.test
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        text = context.source.segment(test.operand)
    else:
        text = f"not {_operand(context, test)}"
    return f"{text} and {torch}.cuda.is_available()" if chain.asked_only else text


def _laid_out(context: Context, node: ast.expr, parts: list[str]) -> str:
    """The arms on one line where they fit, else as black would break them."""
    source = context.source
    line = " ".join(parts)
    start, end = source.span(node)
    row, column = source.position(start)
    end_row, _ = source.position(end)
    tail = len(source.line(end_row)) - (source.position(end)[1] - 1)
    limit = line_limit(source)
    if "\n" in source.text[start:end] or column - 1 + len(line) + tail <= limit:
        return line
    newline, unit, indent = source.newline, indent_unit(source), source.indentation(row)
    inner = indent + unit
    parent = context.index.parents[node]
    alone = isinstance(parent, ast.Call) and parent.args == [node] and not parent.keywords
    bracketed = alone or _in_parentheses(context, start, end)
    if bracketed and not source.line(row)[: column - 1].rstrip().endswith("("):
        bracketed = False
    broken = f"{newline}{inner}".join(parts) if len(inner) + len(line) > limit else line
    body = f"{newline}{inner}{broken}{newline}{indent}"
    return body if bracketed else f"({body})"


def _in_parentheses(context: Context, start: int, end: int) -> bool:
    text = context.source.text
    return text[:start].rstrip(" \t").endswith("(") and text[end:].lstrip(" \t").startswith(")")


# statements


def _statement(context: Context, chain: Chain, node: ast.If, torch: str) -> tuple[Edit, ...] | None:
    if chain.inverted or chain.asked_only or not _plain_arm(context, chain, node):
        return _into_cpu_arm(context, chain, torch)
    mps = mps_arm(context, chain.cuda_arm)
    if mps is None:
        return None
    source = context.source
    arm_statement = context.index.statement(chain.cuda_arm)
    last = node.body[-1]
    row = last.end_lineno or last.lineno
    if not alone_on_lines(source, last) or not alone_on_lines(source, arm_statement):
        return _into_cpu_arm(context, chain, torch)
    arm_start = source.span(chain.cuda_arm)[0]
    head = source.text[source.span(arm_statement)[0] : arm_start]
    newline, indent = source.newline, source.indentation(node.lineno)
    body_indent = source.indentation(arm_statement.lineno)
    offset = source.starts[row] if row < len(source.starts) else len(source.text)
    lead = newline if offset == len(source.text) and not source.text.endswith(("\n", "\r")) else ""
    text = f"{lead}{indent}elif {mps_test(context, chain, torch)}:{newline}{body_indent}{head}{mps}{newline}"
    return (insert(offset, text),)


def _plain_arm(context: Context, chain: Chain, node: ast.If) -> bool:
    """Whether all that the CUDA arm does for the rest of the program is to choose the device."""
    statement = context.index.statement(chain.cuda_arm)
    if statement not in node.body:
        return False
    others = [item for item in node.body if item is not statement]
    return not any(isinstance(item, ast.Assign | ast.AnnAssign | ast.AugAssign) for item in others)


def _into_cpu_arm(context: Context, chain: Chain, torch: str) -> tuple[Edit, ...] | None:
    """Choose between MPS and CPU where the chain has come to the CPU."""
    if chain.cpu_arm is None or chain.asked_only:
        return None
    source = context.source
    arm = chain.cpu_arm
    literal = _cpu_literal(arm)
    if literal is None:
        return None
    text = source.segment(literal)
    mark = '"' if '"' in text else "'"
    selected = f"{mark}mps{mark} if {mps_test(context, chain, torch)} else {text}"
    if needs_parentheses(literal, context.index.parents[literal]):
        selected = f"({selected})"
    return (replace(source, literal, selected),)


def _cpu_literal(arm: ast.expr) -> ast.Constant | None:
    if isinstance(arm, ast.Constant):
        return arm
    if isinstance(arm, ast.Call) and len(arm.args) == 1 and isinstance(arm.args[0], ast.Constant):
        return arm.args[0]
    return None
