"""A default that is found out when the function is called, not while its module is imported.

`def f(device="cuda")` becomes `device=None`, with `if device is None:` as the first thing it does.
To ask for CUDA while the module is imported would settle which GPUs the process sees.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.patterns.text import indent_unit, insert, replace

if TYPE_CHECKING:
    from mpslint.model import Edit
    from mpslint.semantics.context import Context


def resolved_inside(
    context: Context, default: ast.expr, parameter: ast.AST, value: str
) -> tuple[Edit, ...] | None:
    """The edits; None where the parameter may not be None, or is something of its own then, or the
    body has no line of its own."""
    if not isinstance(parameter, ast.arg) or not _may_be_none(context, parameter):
        return None
    arguments = context.index.parents[parameter]
    function = context.index.parents[arguments]
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    if context.index.parents[default] is not arguments or _means_another(context, parameter):
        return None
    first = next((item for item in function.body if not _says_nothing(item)), None)
    if first is None:
        return None
    source, name = context.source, parameter.arg
    row = min(item.lineno for item in (first, *getattr(first, "decorator_list", ())))
    start = source.starts[row - 1]
    if source.text[start : source.span(first)[0]].strip(" \t@"):
        return None  # behind the colon, or another statement
    indent, newline = source.indentation(row), source.newline
    text = (
        f"{indent}if {name} is None:{newline}{indent}{indent_unit(source)}{name} = {value}{newline}"
    )
    return replace(source, default, "None"), insert(start, text)


def _may_be_none(context: Context, parameter: ast.arg) -> bool:
    if parameter.annotation is None:
        return True
    text = context.source.segment(parameter.annotation)
    return "Optional" in text or "None" in text


def _means_another(context: Context, parameter: ast.arg) -> bool:
    """Whether the function asks for None itself: `if device is None: device = "cpu"`."""
    function = context.index.parents[context.index.parents[parameter]]
    for use in context.index.names.get(parameter.arg, ()):
        asked = context.index.parents[use]
        if isinstance(asked, ast.Compare) and context.index.within(asked, function):
            sides = (asked.left, *asked.comparators)
            if any(isinstance(one, ast.Constant) and one.value is None for one in sides):
                return True
    return False


def _says_nothing(statement: ast.stmt) -> bool:
    """A docstring, `pass`, `...`"""
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    return isinstance(statement, ast.Pass)
