"""Refusals that ask for NVIDIA by its name, or for kernels of CUDA's, and not for some GPU."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mpslint.facts.priors import matches
from mpslint.semantics.syntax.giving_up import gives_up
from mpslint.semantics.syntax.index import walk


def asks_for_nvidia(arm: list[ast.stmt]) -> bool:
    """Whether an arm ends in an error, or in an exit, and says on its way that this takes NVIDIA's
    GPU, or kernels that are built for it."""
    return gives_up(arm) and names_nvidia(arm)


def names_nvidia(said: Sequence[ast.stmt]) -> bool:
    return any(
        isinstance(item, ast.Constant)
        and isinstance(item.value, str)
        and (matches("nvidia-words", item.value) or matches("kernel-words", item.value))
        for statement in said
        for item in walk(statement)
    )
