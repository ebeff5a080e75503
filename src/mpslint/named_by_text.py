"""What stands in the texts of a project, or in a file that is no module, and may name something."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def names_in(data: bytes, word: bytes, *, prose: bool) -> bool:
    """Whether a text that is no module names something; one for people, as code is written."""
    if word not in data:
        return False
    pattern = rb"(?:\.|::?|import )%s\b|\b%s\(" if prose else rb"\b%s\b"
    escaped = re.escape(word)
    return re.search(pattern % ((escaped, escaped) if prose else escaped), data) is not None


def has_text(
    context: Context, name: str, is_other: Callable[[str], bool], *, listed: bool = True
) -> bool:
    """Whether a string of a file ends in a name, by which somebody may look that up; one in the
    list of what the module hands on where that is `listed` for somebody."""
    return any(
        isinstance(text.value, str)
        and (
            (text.value == name and (listed or not _is_handed_on(context, text)))
            or (
                text.value.endswith((f".{name}", f":{name}"))
                and not is_other(text.value[: -len(name) - 1])
            )
        )
        for text in context.index.strings
    )


def _is_handed_on(context: Context, text: ast.Constant) -> bool:
    """`__all__ = ["to_gpu"]`"""
    statement = context.index.statement(text)
    if not isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign):
        return False
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return any(isinstance(item, ast.Name) and item.id == "__all__" for item in targets)
