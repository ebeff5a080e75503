"""Copies to the CPU, wherever a file makes them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


_CPU = frozenset({"cpu"})


def copies(context: Context) -> Iterator[ast.Call]:
    """`x.cpu()`, `x.to("cpu")`, `x.to(torch.device("cpu"))`, `x.to(cpu_device)`."""
    yield from context.index.calls.get("cpu", ())
    for move in context.index.calls.get("to", ()):
        if move.args and (
            any(
                isinstance(item, ast.Constant) and item.value == "cpu"
                for item in ast.walk(move.args[0])
            )
            or context.values.device_types(move.args[0]) == _CPU
        ):
            yield move
