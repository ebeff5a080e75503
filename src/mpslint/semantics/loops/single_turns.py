"""Loops that turn once: unless somebody asks for more, as `range(args.rounds)` of an option whose
default is 1, and those that are given all that a buffer holds in one batch."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.options import options

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.loops.loops import Loop


def turns_once(context: Context, loop: Loop) -> bool:
    """Whether a loop counts up to an option of this program that is 1 by default."""
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call):
        return False
    counted = loop.iter
    if last_name(counted.func) not in ("range", "trange") or len(counted.args) != 1:
        return False
    turns = counted.args[0]
    if not isinstance(turns, ast.Attribute):
        return False
    defaults = [
        keyword.value
        for call in options(context.index, turns.attr)
        for keyword in call.keywords
        if keyword.arg == "default"
    ]
    return bool(defaults) and all(
        isinstance(item, ast.Constant) and item.value == 1 for item in defaults
    )


def takes_all_at_once(loop: ast.AST) -> bool:
    """`for data in buffer.get(batch_size=None):`. Fact: Stable-Baselines3 (`RolloutBuffer`,
    `common/buffers.py`) makes one batch of all then, as do buffers that are written after it."""
    drawn = loop.iter if isinstance(loop, ast.For) else None
    return (
        isinstance(drawn, ast.Call)
        and isinstance(drawn.func, ast.Attribute)
        and drawn.func.attr == "get"
        and not drawn.args
        and [keyword.arg for keyword in drawn.keywords] == ["batch_size"]
        and isinstance(drawn.keywords[0].value, ast.Constant)
        and drawn.keywords[0].value.value is None
    )
