"""Fixes that let a call run only where its backend is: below `if`, or as `x if ok else y`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Fix
from mpslint.patterns.joined import Arms, after_its_like, joined
from mpslint.patterns.layout import wrapped_chain
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.own_device import tests_at
from mpslint.patterns.text import (
    alone_on_lines,
    indent_unit,
    insert,
    line_limit,
    needs_parentheses,
    replace,
    replace_span,
)

if TYPE_CHECKING:
    from mpslint.model import Edit
    from mpslint.semantics.context import Context

CUDA = "{torch}.cuda.is_available()"
MPS = "{torch}.backends.mps.is_available()"
ACCELERATOR = "{torch}.accelerator.is_available()"


def guard_statement(
    context: Context,
    call: ast.Call,
    test: str,
    message: str,
    applicability: Applicability = Applicability.SAFE,
) -> Fix | None:
    """Put the expression statement `call` below `if test:`, or below the `if` that it alone stands
    in, with `and test`.

    None where the call is part of a larger expression, shares its lines, or spans several.
    """
    torch = torch_name(context, call)
    statement = context.index.parents[call]
    if torch is None or not isinstance(statement, ast.Expr):
        return None
    source = context.source
    start, end = source.span(statement)
    body = source.text[start:end]
    if "\n" in body or "\r" in body or not alone_on_lines(source, statement):
        return None
    asked, mps, waits, device = test.format(torch=torch), "", False, ""
    if test == CUDA:
        asked, mps, waits, device = tests_at(context, call, torch)
    around = _with_the_test_around(context, statement, asked, device)
    if around is not None:
        return Fix(message, around, applicability, waits=waits)
    beside = joined(context, statement, Arms(asked, body, mps))
    if beside is not None:
        return Fix(message, (beside,), applicability, waits=waits)
    indent = source.indentation(statement.lineno) + indent_unit(source)
    text = f"if {asked}:{source.newline}{indent}{body}"
    edit = after_its_like(context, statement, replace_span(source, start, end, text))
    return Fix(message, (edit,), applicability, waits=waits)


def _with_the_test_around(
    context: Context, statement: ast.stmt, test: str, device: str
) -> tuple[Edit, ...] | None:
    """`if asked: call()` becomes `if asked and test: call()`, where that fits on the line; `test`
    alone, where the `device` that it asks was asked whether it is not the CPU."""
    around, source = context.index.parents[statement], context.source
    if not isinstance(around, ast.If) or around.orelse or around.body != [statement]:
        return None
    start, end = source.span(around.test)
    text = source.text[start:end]
    loose = isinstance(around.test, ast.IfExp | ast.Lambda | ast.NamedExpr) or (
        isinstance(around.test, ast.BoolOp) and isinstance(around.test.op, ast.Or)
    )
    width = len(source.line(around.lineno).rstrip()) + len(f"() and {test}")
    if "\n" in text or "\r" in text or width > line_limit(source):
        return None
    if device and _is_not_the_cpu(context, around.test, device):
        return (replace(source, around.test, test),)
    if loose:
        return (insert(start, "("), insert(end, f") and {test}"))
    return (insert(end, f" and {test}"),)


def _is_not_the_cpu(context: Context, test: ast.expr, device: str) -> bool:
    """`device != torch.device("cpu")`, `device.type != "cpu"`: what is CUDA is so, too."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.NotEq):
        return False
    left, right = test.left, test.comparators[0]
    if isinstance(right, ast.Call) and context.resolve(right.func) == "torch.device":
        right = right.args[0] if len(right.args) == 1 else right
    is_cpu = isinstance(right, ast.Constant) and right.value == "cpu"
    asked = (device, f"{device}.type", f"str({device})")
    return is_cpu and len(test.ops) == 1 and context.source.segment(left) in asked


def guard_expression(
    context: Context,
    node: ast.expr,
    test: str,
    other: str,
    message: str,
    applicability: Applicability = Applicability.SAFE,
    then: str | None = None,
) -> Fix | None:
    """Write `node if test else other` for `node`, in parentheses where its place needs them.

    `then` replaces `node` in the first arm. Texts may hold `{torch}`. None inside f-strings,
    whose inner positions are not exact before Python 3.12, and over several lines.
    """
    torch = torch_name(context, node)
    if torch is None or context.index.enclosing(node, ast.JoinedStr) is not None:
        return None
    segment = context.source.segment(node)
    if "\n" in segment or "\r" in segment:
        return None
    first = segment if then is None else then.format(torch=torch)
    text = f"{first} if {test.format(torch=torch)} else {other.format(torch=torch)}"
    row, column = context.source.position(context.source.span(node)[0])
    indent = context.source.indentation(row)
    whole = text if " if " in segment else wrapped_chain(context, text, indent, column - 1)
    if whole == text and needs_parentheses(node, context.index.parents[node]):
        whole = f"({text})"
    return Fix(message, (replace(context.source, node, whole),), applicability)
