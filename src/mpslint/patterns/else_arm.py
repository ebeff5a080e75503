"""A GPU that is chosen unless somebody asks for the CPU: `torch.device("cpu") if args.device ==
"cpu" else torch.device(f"cuda:{args.device}")`.

MPS gets an arm of its own between the two. Who has neither is told by torch what is missing, as
before, and does not compute on the CPU unasked.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.patterns.availability import mps_available
from mpslint.patterns.flat import flat
from mpslint.patterns.local_names import torch_name
from mpslint.semantics.terms.facts_known import backend_word

if TYPE_CHECKING:
    from mpslint.model import Edit
    from mpslint.semantics.context import Context


def arm_before(context: Context, node: ast.expr) -> tuple[Edit, ...] | None:
    """The statement with three arms in place of an assignment by such a choice, of which `node` is
    the CUDA device; None: it is another one."""
    torch = torch_name(context, node)
    made = context.index.parents[node]
    if torch is None or not isinstance(made, ast.Call) or _given(context, made) is not node:
        return None
    choice = context.index.parents[made]
    if not isinstance(choice, ast.IfExp) or choice.orelse is not made:
        return None
    cpu = choice.body
    word = _given(context, cpu) if isinstance(cpu, ast.Call) else None
    if word is None or backend_word(word) != "cpu":
        return None
    source = context.source
    test, text = source.segment(choice.test), source.segment(word)
    mps = source.segment(cpu).replace(text, text.replace("cpu", "mps"))
    arms = [
        (source.segment(cpu), test),
        (mps, mps_available(context, torch)),
        (source.segment(made), ""),
    ]
    if any("\n" in text for arm in arms for text in arm):
        return None
    edit = flat(context, choice, arms)
    return (edit,) if edit is not None else None


def _given(context: Context, call: ast.Call) -> ast.expr | None:
    """What a device is made of, where that is one thing."""
    is_device = context.resolve(call.func) == "torch.device" and not call.keywords
    return call.args[0] if is_device and len(call.args) == 1 else None
