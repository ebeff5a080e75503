"""A choice among three that no line has room for: one statement with an arm for each.

A conditional expression in another, broken over seven lines, is what nobody writes by hand where
`if`, `elif` and `else` do.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Edit
from mpslint.patterns.layout import arms
from mpslint.patterns.text import alone_on_lines, holds_comment, indent_unit, replace_span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.semantics.context import Context

Arm = tuple[str, str]
"""A value and its test; the last one has none."""


def flat(context: Context, node: ast.expr, choice: Sequence[Arm]) -> Edit | None:
    """The assignment that `node` is the value of, or `torch.device` of, once for each arm of a
    choice; None where it is part of something else."""
    source = context.source
    statement = _assignment(context, node)
    if statement is None or not alone_on_lines(source, statement):
        return None
    start, end = source.span(statement)
    row = source.position(start)[0]
    if "\n" in source.text[start:end] or "\r" in source.text[start:end]:
        return None
    if holds_comment(source, start, source.starts[row - 1] + len(source.line(row))):
        return None
    first, last = source.span(node)
    head, tail = source.text[start:first], source.text[last:end]
    if head.rstrip().endswith("= (") and tail.strip() == ")":
        head, tail = head.rstrip()[:-1], ""
    newline, indent, unit = source.newline, source.indentation(row), indent_unit(source)
    lines = statement_of([(f"{head}{value}{tail}", test) for value, test in choice], unit)
    return replace_span(source, start, end, f"{newline}{indent}".join(lines))


def of_chain(expression: str) -> list[Arm]:
    """The values of a conditional expression that a fix has written, each with its test."""
    parts = arms(expression)
    values = [one.removeprefix("else ") for one in parts if not one.startswith("if ")]
    tests = [one.removeprefix("if ") for one in parts if one.startswith("if ")]
    return list(zip(values, [*tests, ""], strict=True))


def statement_of(choice: Sequence[Arm], unit: str) -> list[str]:
    """`if`, `elif` and `else`, each with one line below it."""
    lines, word = [], "if"
    for line, test in choice:
        lines += [f"{word} {test}:" if test else "else:", f"{unit}{line}"]
        word = "elif"
    return lines


def _assignment(context: Context, node: ast.expr) -> ast.Assign | None:
    value: ast.expr = node
    parent = context.index.parents[node]
    if isinstance(parent, ast.Call) and parent.args == [node] and not parent.keywords:
        if context.resolve(parent.func) != "torch.device":
            return None
        value, parent = parent, context.index.parents[parent]
    if not isinstance(parent, ast.Assign) or parent.value is not value or len(parent.targets) != 1:
        return None
    return parent if _is_own(parent.targets[0]) else None


def _is_own(target: ast.expr) -> bool:
    """A name, or what an object keeps of its own: what becomes of `args.device` in arms is known
    to fewer of those who are handed `args` than what becomes of one value."""
    held = target.value if isinstance(target, ast.Attribute) else target
    return isinstance(held, ast.Name) and (held is target or held.id == "self")
