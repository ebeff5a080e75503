"""What a module tries of itself below `if __name__ == "__main__":`, with tensors that it makes up:
whoever wrote it looked at the shapes once. The project uses the module for what it defines.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.facts.priors import matches
from mpslint.semantics.syntax.expressions import is_main_block
from mpslint.semantics.syntax.index import FUNCTIONS, walk
from mpslint.semantics.terms.facts_known import NOBODY
from mpslint.sources.opening import is_notebook

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.semantics.context import Context
    from mpslint.semantics.elsewhere.elsewhere import Elsewhere

_MAIN = "__main__"
_MADE_UP = frozenset({"rand", "randn", "randint", "ones", "zeros", "arange", "Tensor", "tensor"})
"""Factories of torch whose numbers come from nowhere."""
_WORK = frozenset(
    {"step", "save", "load", "load_state_dict", "open", "savefig"}
    | {"DataLoader", "imread", "imwrite", "parse_args", "add_argument"}
)
"""What a program does for its user: it learns, reads, writes, or asks what it is to do. One that
goes back through the graph and takes no step has learned nothing: it looks whether that works."""
_READING = frozenset({"load", "open", "load_state_dict", "imread", "DataLoader"})
"""That of it which only reads."""
_PLACES = 3
"""A path from the root with so many parts is one of somebody's own machine."""

_ASKING = frozenset({"parse_args", "add_argument"})


def is_smoke_test(context: Context, row: int) -> bool:
    """Whether a line stands in such a try."""
    known = context.memo.get("smoke tests")
    if known is None:
        known = context.memo["smoke tests"] = [
            range(item.lineno, (item.end_lineno or item.lineno) + 1)
            for item in context.tree.body
            if is_main_block(item) and _is_try(context, item)
        ]
    assert isinstance(known, list)
    return any(row in rows for rows in known)


def _is_try(context: Context, main: ast.If) -> bool:
    if context.elsewhere is None:
        return False
    calls = [item for item in walk(main) if isinstance(item, ast.Call)]
    names = {context.values.last_name(call.func) or "" for call in calls}
    made_up = any(
        (context.resolve(call.func) or "").startswith("torch.")
        and context.values.last_name(call.func) in _MADE_UP
        for call in calls
    )
    work = names & _WORK
    if "gradcheck" in names:
        work -= _ASKING  # Derivatives are checked in float64: whoever asks, it is a test.
    if not names & _ASKING and any(map(_is_own_path, walk(main))):
        work -= _READING  # Nobody else has that file.
    if not made_up or work or is_notebook(context.source.path):
        return False
    defined = [
        item.name for item in context.tree.body if isinstance(item, (*FUNCTIONS, ast.ClassDef))
    ]
    is_module = _is_module(context.elsewhere, context.source.path, defined)
    return is_module and matches("trials-of-modules", _MAIN)


def _is_module(around: Elsewhere, path: str, defined: Sequence[str]) -> bool:
    """Whether others use what a file defines. One that belongs to no project is a program, unless
    a file beside it imports it: that nobody else can be seen says nothing for it."""
    if not around.place(path):
        return any(NOBODY not in around.entered(path, name) for name in defined)
    return any(around.uses(path, name, method=False) for name in defined)


def _is_own_path(node: ast.AST) -> bool:
    """`"/mnt/sets/points/index"`"""
    text = node.value if isinstance(node, ast.Constant) else None
    if not isinstance(text, str) or not text.startswith("/") or " " in text:
        return False
    return len([part for part in text.split("/") if part]) >= _PLACES
