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
    if torch is None or not _makes_device(context, made) or made.args != [node]:
        return None
    choice = context.index.parents[made]
    if not isinstance(choice, ast.IfExp) or choice.orelse is not made:
        return None
    cpu = choice.body
    if not _makes_device(context, cpu) or [backend_word(one) for one in cpu.args] != ["cpu"]:
        return None
    source = context.source
    test, word = source.segment(choice.test), source.segment(cpu.args[0])
    mps = source.segment(cpu).replace(word, word.replace("cpu", "mps"))
    arms = [
        (source.segment(cpu), test),
        (mps, mps_available(context, torch)),
        (source.segment(made), ""),
    ]
    if any("\n" in text for arm in arms for text in arm):
        return None
    edit = flat(context, choice, arms)
    return (edit,) if edit is not None else None


def _makes_device(context: Context, node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and context.resolve(node.func) == "torch.device"
        and len(node.args) == 1
        and not node.keywords
    )
