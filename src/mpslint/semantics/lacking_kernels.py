"""Operators without a kernel for MPS, which tensors that come there would raise at."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from mpslint.facts.ops import support
from mpslint.semantics.op_calls import falls_back, oldest_release, op_calls

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_ONE_CELL = "daptive"
"""Pooling to a single cell needs no kernel of its own, and most of it does that."""


@cache
def speaking_of_kernels() -> tuple[bytes, ...]:
    """The last parts of the names of such operators."""
    names = {name.rpartition(".")[2] for name in support().native_since}
    return tuple(sorted(name.encode() for name in names if _ONE_CELL not in name))


def lacking_kernels(context: Context) -> Iterator[tuple[ast.Call, str]]:
    """Calls of such operators, and of the modules that call them, with the name."""
    if falls_back(context):
        return
    oldest = oldest_release(context)
    lacking = {name: since for name, since in support().native_since.items() if since > oldest}
    for call, name in op_calls(context, lacking):
        if _ONE_CELL not in name:
            yield call, name
