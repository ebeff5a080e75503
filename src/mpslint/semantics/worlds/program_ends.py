"""Where a program ends on a Mac: in what CUDA alone can run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.worlds.machines import MACS, NVIDIA
from mpslint.semantics.worlds.values import FUNCTION, Atom

if TYPE_CHECKING:
    from mpslint.semantics.worlds.interpreter import Interpreter
    from mpslint.semantics.worlds.state import Function


def ends_in_cuda(run: Interpreter) -> bool:
    """Whether what a program calls below its test of `__name__`, whatever it is asked for, is
    CUDA's own: no Mac comes back from it."""
    for function in _called(run):
        end = run.ends.get(function, MACS)
        if function.own and not end & MACS and end & NVIDIA:
            return True
    return False


def _called(run: Interpreter) -> Iterator[Function]:
    for statement in getattr(run.main, "body", ()):
        value = getattr(statement, "value", None)
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            known = run.frame.env.get(value.func.id)
            if known.__class__ is Atom and known.kind == FUNCTION:
                yield known.v
