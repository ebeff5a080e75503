"""Small programs in which calls of `probe` mark the expressions that a test asks about."""

from __future__ import annotations

import ast
import textwrap

from mpslint.semantics.context import Context
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile


def probed(program: str) -> tuple[Context, list[ast.expr]]:
    """The meaning of a program, and the first arguments of its calls of `probe`, in order."""
    source = SourceFile("program.py", textwrap.dedent(program).encode())
    context = Context(source, source.parse(), Settings())
    return context, [call.args[0] for call in context.index.calls["probe"]]


def probe(program: str) -> tuple[Context, ast.expr]:
    """As `probed`, for a program with one probe."""
    context, (node,) = probed(program)
    return context, node
