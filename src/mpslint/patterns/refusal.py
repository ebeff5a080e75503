"""A program that refuses to run without CUDA lets Apple's GPU in as well."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.facts.priors import matches
from mpslint.model import Applicability, Edit, Fix, doubtful
from mpslint.patterns.availability import mps_available, wants_mps
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.text import holds_comment, replace
from mpslint.semantics.names.flow import leaves
from mpslint.semantics.syntax.expressions import last_name

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def admit_mps(context: Context, test: ast.expr) -> Fix | None:
    """`torch.cuda.is_available()` in `test` also answers for MPS; None where it is asked more
    than once, or by other words.

    Unsafe: whether the code below runs on MPS is for its author to say.
    """
    source = context.source
    torch = torch_name(context, test)
    asked = [
        node
        for node in ast.walk(test)
        if isinstance(node, ast.Call) and context.resolve(node.func) == "torch.cuda.is_available"
    ]
    if torch is None or len(asked) != 1 or not wants_mps(context):
        return None
    call = asked[0]
    if holds_comment(source, *source.span(call)):
        return None
    text = f"{source.segment(call)} or {mps_available(context, torch)}"
    parent = context.index.parents[call]
    if "mps" in ast.unparse(parent):
        return None  # It is let in already.
    if not (_is_or(parent) or isinstance(parent, ast.stmt)):
        text = f"({text})"
    fix = Fix("Let MPS in", (replace(source, call, text),), Applicability.UNSAFE)
    return doubtful(fix, "who wrote the refusal may have had a reason for it")


def opened_refusals(context: Context) -> tuple[Edit, ...]:
    """Edits that let MPS through `if opt.cuda and not torch.cuda.is_available(): raise`.

    For fixes by which the same option chooses MPS, too: the arm would be out of reach.
    """
    known = context.memo.get("opened refusals")
    if known is None:
        known = context.memo["opened refusals"] = tuple(_open(context))
    assert isinstance(known, tuple)
    return known


def _open(context: Context) -> Iterator[Edit]:
    for call in context.calls_of("torch.cuda.is_available"):
        denied = context.index.parents[call]
        both = context.index.parents[denied]
        if not isinstance(denied, ast.UnaryOp) or not isinstance(denied.op, ast.Not):
            continue
        if not isinstance(both, ast.BoolOp) or not isinstance(both.op, ast.And):
            continue
        statement = context.index.parents[both]
        if not isinstance(statement, ast.If) or not leaves(statement.body):
            continue
        if not all(item is denied or _is_option(item) for item in both.values):
            continue
        torch = torch_name(context, call)
        if torch is not None and wants_mps(context) and not _says_mps(statement):
            text = f"({context.source.segment(call)} or {mps_available(context, torch)})"
            yield replace(context.source, call, text)


def _is_option(node: ast.expr) -> bool:
    word = last_name(node)
    return matches("cuda-switches", word)


def _says_mps(statement: ast.If) -> bool:
    return "mps" in ast.unparse(statement.test)


def _is_or(node: ast.AST) -> bool:
    return isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or)
