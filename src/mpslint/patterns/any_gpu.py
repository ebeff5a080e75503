"""`accelerator="gpu" if torch.cuda.is_available() else "cpu"` becomes `accelerator="auto"`.

Lightning chooses the same with CUDA, MPS on a Mac, and the CPU where there is neither.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.facts.lightning import ANYWHERE, AUTO, CHOSEN, OF_ONE_GPU
from mpslint.facts.machines import gpu_argument
from mpslint.model import Applicability, Fix
from mpslint.patterns.text import holds_comment, quote, replace

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def chosen_by_trainer(context: Context, test: ast.expr) -> Fix | None:
    """The fix for such a choice by `test` that is written in the call itself. A number of devices,
    a strategy or a precision beside it that does not suit a Mac leaves none; what is worked out
    elsewhere may not, so that somebody has to look at it."""
    choice = context.index.parents.get(test)
    given = context.index.parents.get(choice) if isinstance(choice, ast.IfExp) else None
    call = context.index.parents.get(given) if isinstance(given, ast.keyword) else None
    if not isinstance(call, ast.Call) or not isinstance(given, ast.keyword):
        return None
    assert isinstance(choice, ast.IfExp)
    if gpu_argument(context.resolve(call.func) or "") != given.arg:
        return None
    arms = [arm.value for arm in (choice.body, choice.orelse) if isinstance(arm, ast.Constant)]
    if tuple(arms) != CHOSEN or holds_comment(context.source, *context.source.span(choice)):
        return None
    mark = quote(context.source)
    edit = replace(context.source, choice, f"{mark}{AUTO}{mark}")
    others = [item for item in call.keywords if item.arg not in ANYWHERE]
    suits = [_suits_a_mac(item) for item in others]
    if False in suits:
        return None
    if None in suits:
        unseen = context.source.segment(others[suits.index(None)])
        reason = f"`{unseen}` may ask for what a Mac has not"
        return Fix(f"Let Lightning choose ({reason})", (edit,), Applicability.UNSAFE)
    return Fix("Let Lightning choose", (edit,), Applicability.SAFE)


def _suits_a_mac(item: ast.keyword) -> bool | None:
    """Whether an argument of the trainer asks for nothing but one GPU's usual ways; None: that is
    worked out elsewhere, or is of an argument of which nobody here knows."""
    known = OF_ONE_GPU.get(item.arg or "")
    if known is None:
        return None
    try:
        return ast.literal_eval(item.value) in known
    except ValueError:
        return None
