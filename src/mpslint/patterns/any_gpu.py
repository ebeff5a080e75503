"""`accelerator="gpu" if torch.cuda.is_available() else "cpu"` becomes `accelerator="auto"`.

Lightning chooses the same with CUDA, MPS on a Mac, and the CPU where there is neither.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.facts.machines import gpu_argument
from mpslint.model import Applicability, Fix
from mpslint.patterns.text import holds_comment, quote, replace
from mpslint.semantics.value_syntax import keyword

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

# Fact: Lightning 2.5, `accelerator_connector.py`, `_choose_auto_accelerator`: XLA, then MPS, then
# CUDA, then the CPU; `devices` counts for the one that is chosen.
_WORDS = ("gpu", "cpu")
_AUTO = "auto"


def chosen_by_trainer(context: Context, test: ast.expr) -> Fix | None:
    """The fix for such a choice by `test` that is written in the call itself. What is chosen for
    `devices` beside it may not suit a Mac: then it is unsafe."""
    choice = context.index.parents.get(test)
    given = context.index.parents.get(choice) if isinstance(choice, ast.IfExp) else None
    call = context.index.parents.get(given) if isinstance(given, ast.keyword) else None
    if not isinstance(call, ast.Call) or not isinstance(given, ast.keyword):
        return None
    assert isinstance(choice, ast.IfExp)
    if gpu_argument(context.resolve(call.func) or "") != given.arg:
        return None
    arms = [arm.value for arm in (choice.body, choice.orelse) if isinstance(arm, ast.Constant)]
    if tuple(arms) != _WORDS or holds_comment(context.source, *context.source.span(choice)):
        return None
    mark = quote(context.source)
    devices = keyword(call, "devices")
    plain = devices is None or isinstance(devices, ast.Constant)
    level = Applicability.SAFE if plain else Applicability.UNSAFE
    edit = replace(context.source, choice, f"{mark}{_AUTO}{mark}")
    return Fix("Let Lightning choose", (edit,), level)
