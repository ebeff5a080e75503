"""Operators without a kernel for MPS, which tensors that come there would raise at."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from mpslint.facts.ops import Release, support
from mpslint.facts.torch_releases import FIRST_WITH_MPS
from mpslint.semantics.operands.op_calls import falls_back, oldest_release, op_calls

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
    release = counted_release(context)
    if release is not None:
        yield from op_calls(context, lacking_names(release), release)


def lacking_names(release: Release) -> dict[str, Release]:
    """The operators that a release lacks, with the first that has them."""
    table = support().native_since
    return {name: one for name, one in table.items() if one > release and _ONE_CELL not in name}


def counted_release(context: Context) -> Release | None:
    """The torch whose kernels count; None: what has none runs on the CPU."""
    if falls_back(context):
        return None
    release, newest = oldest_release(context), context.settings.newest_torch
    if newest is not None and newest >= FIRST_WITH_MPS:
        return min(release, newest)
    return release
