"""Calls by which programs say something to who runs them, and statements that do no more."""

from __future__ import annotations

import ast

from mpslint.semantics.syntax.expressions import last_name

SAYING = ("print", "pprint", "debug", "info", "warning", "warn", "error", "log", "display")
"""The last names of the functions."""


def only_says(statement: ast.stmt) -> bool:
    """`print("on the GPU")`, `pass`: nothing that somebody else would miss."""
    if isinstance(statement, ast.Pass):
        return True
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Constant):
        return True  # `...`, a text by itself
    return isinstance(call, ast.Call) and last_name(call.func) in SAYING
