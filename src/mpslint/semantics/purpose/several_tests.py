"""Tests that only hold, or only fail, where several GPUs work together."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.worlds import launched

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def asks_for_several(context: Context, test: ast.expr, outcome: bool = True) -> bool:
    """Whether there are several GPUs where `test` comes out so: a launcher starts one process for
    each."""
    return launched.asks_for_several(test, context.guards.behind, outcome)
