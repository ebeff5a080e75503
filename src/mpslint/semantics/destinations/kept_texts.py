"""Devices of tests that are texts and stay so: what is made with them is asked for the text again.

`config = read(path, device="cuda")` and `assert config["device"] == "cuda"`: a `torch.device` is
never equal to a text, so that nothing was placed by it.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.packages.consumers import reads_of
from mpslint.semantics.syntax.index import FUNCTIONS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_NAMES_FOLLOWED = 2
"""`overrides = {"device": "cuda"}`, `config = read(path, overrides)`, and what is asserted."""


def is_kept_text(context: Context, node: ast.expr) -> bool:
    """Whether a test gives the text `node` to a call of whose result it only asserts what is kept
    in it, this text under its key among that."""
    if not isinstance(node, ast.Constant):
        return False
    function = context.index.enclosing(node, *FUNCTIONS)
    if function is None or not function.name.startswith("test"):  # type: ignore[attr-defined]
        return False
    return _is_asserted(context, node, node.value, _NAMES_FOLLOWED)


def _is_asserted(context: Context, node: ast.expr, text: object, names: int) -> bool:
    statement = context.index.statement(node)
    if not names or not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    if not isinstance(target, ast.Name):
        return False
    uses = list(reads_of(context, target))
    asserted = [use for use in uses if isinstance(context.index.statement(use), ast.Assert)]
    if uses and len(asserted) == len(uses):
        return any(_equals(context, use, text) for use in uses)
    return bool(uses) and all(_is_asserted(context, use, text, names - 1) for use in uses)


def _equals(context: Context, use: ast.Name, text: object) -> bool:
    """`kept["device"] == "cuda"`"""
    item = context.index.parents[use]
    asked = context.index.parents[item]
    return (
        isinstance(item, ast.Subscript | ast.Attribute)
        and isinstance(asked, ast.Compare)
        and asked.left is item
        and isinstance(asked.ops[0], ast.Eq)
        and isinstance(asked.comparators[0], ast.Constant)
        and asked.comparators[0].value == text
    )
