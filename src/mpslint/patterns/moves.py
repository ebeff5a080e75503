"""`.cuda()` becomes `.to(device)`, alone or with the `if cuda:` around it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Fix, doubtful
from mpslint.patterns.already_there import drop_move
from mpslint.patterns.arms import add_arms
from mpslint.patterns.by_index import BY_INDEX, leaves_index
from mpslint.patterns.calls import (
    OWN_CUDA,
    gpu_of,
    named_index,
    overrides_cuda,
    rewrite_call,
)
from mpslint.patterns.gates import gates_level, only_asked, open_gates, stays_behind
from mpslint.patterns.numbered import move_numbered
from mpslint.patterns.operand import follow_operand, operand_gate
from mpslint.patterns.ranked import move_ranked
from mpslint.patterns.references import Reference
from mpslint.patterns.refusal import opened_refusals
from mpslint.patterns.selection import reference, reference_level
from mpslint.patterns.wrapped_batches import BATCHES, moved_batches
from mpslint.semantics.gpus.ranks import rank_of
from mpslint.semantics.packages.flag_uses import moved_elsewhere
from mpslint.semantics.packages.moved_by_flag import stays_by_flag
from mpslint.semantics.purpose.settled_moves import settled

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.syntax.index import FunctionNode


_GATED = "functions with gated moves"
_ASKED = "what the move gives is asked as if it told of CUDA, and is always true"
GATED = "other moves of the function keep a test for CUDA"
_SOME_DEVICE = Reference("device", False, ())


def move_level(context: Context, call: ast.Call) -> Applicability | None:
    """What `move_to_device` will come to, as far as that costs little; None: no fix."""
    followed = operand_gate(context, call)
    if followed is not None:
        return _level(follow_operand(context, followed, laid_out=False))
    if beside_tensor(context, call) is not None:
        return Applicability.SAFE
    if settled(context, call):
        level = gates_level(context)
        if level is not None or not only_asked(context):
            return level if level is not None else _level(add_arms(context))
    if drop_move(context, call) is not None:
        return Applicability.SAFE
    if stays_by_flag(context, call):
        return None
    level = Applicability.UNSAFE if _parting(context, call) else Applicability.SAFE
    if rank_of(context, call) is not None:
        return level
    numbered = move_numbered(context, call)
    if numbered is not None:
        return min(level, numbered.applicability)
    if rewrite_call(context, call, _SOME_DEVICE) is None:
        return _level(add_arms(context))
    there = reference_level(context, call)
    return min(level, there) if there is not None else None


def beside_tensor(context: Context, call: ast.Call) -> Fix | None:
    """`x.to(y.device)` for `x.cuda(y.get_device())`: with the tensor it goes along everywhere."""
    tensor = gpu_of(call)
    if tensor is None or settled(context, call):
        return None
    device = Reference(f"{context.source.segment(tensor)}.device", False, ())
    edits = rewrite_call(context, call, device)
    if edits is None or overrides_cuda(context, call):
        return None
    return Fix("Move to where the tensor is", edits, Applicability.SAFE, follows=True)


def _level(fix: Fix | None) -> Applicability | None:
    return fix.applicability if fix is not None else None


def move_to_device(context: Context, call: ast.Call) -> Fix | None:
    """The fix for one `.cuda()`; None where it names a GPU of its own or is guarded otherwise."""
    followed = operand_gate(context, call)
    if followed is not None:
        return follow_operand(context, followed)
    beside = beside_tensor(context, call)
    if beside is not None:
        return beside
    if settled(context, call):
        opened = open_gates(context)
        if opened is not None or not only_asked(context):
            return opened if opened is not None else add_arms(context)
    dropped = drop_move(context, call)
    if dropped is not None:
        return dropped
    if stays_by_flag(context, call):
        return None
    parting = _parting(context, call)
    ranked = move_ranked(context, call)
    if ranked is not None:
        return doubtful(ranked, parting)
    numbered = move_numbered(context, call)
    if numbered is not None:
        return doubtful(numbered, parting)
    if rewrite_call(context, call, _SOME_DEVICE) is None:
        return add_arms(context)
    found = reference(context, call, named_index(call))
    if found is None:
        return None
    edits = rewrite_call(context, call, found)
    if edits is None:
        return None
    if not parting and overrides_cuda(context, call):
        parting = OWN_CUDA
    also = (*opened_refusals(context), *moved_batches(context, call))
    fix = Fix("Move to the selected device", (*found.edits, *edits, *also), found.level)
    return doubtful(fix, parting or found.reason)


def move_with(context: Context, call: ast.Call, empty: Sequence[ast.Call]) -> Fix | None:
    """The fix for one `.cuda()`, and with it those of modules without tensors, where these are no
    less safe: they are wrong nowhere, but would read as if they had been forgotten."""
    fix = move_to_device(context, call)
    if fix is None or settled(context, call):
        return fix
    edits = list(fix.edits)
    for other in empty:
        also = move_to_device(context, other)
        if also is not None and also.applicability >= fix.applicability:
            edits += [edit for edit in also.edits if edit not in edits]
    return fix._replace(edits=tuple(edits))


def _parting(context: Context, call: ast.Call) -> str:
    """What stays on CUDA, or on the CPU, when this one moves: things that go to a GPU by its
    index, that a function from elsewhere moves, or that keep a gate of their own in the same
    function; or that it is taken for a test, or moves batches that its wrapper moved; empty:
    nothing."""
    if _is_asked(context, call):
        return _ASKED
    function = context.index.function(call)
    within = function if rank_of(context, call) is not None else None
    moved = moved_elsewhere(context)
    if moved:
        return moved
    if leaves_index(context, within) and add_arms(context) is None:
        return BY_INDEX
    if function in _gated(context) and stays_behind(context):
        return GATED
    return BATCHES if moved_batches(context, call) else ""


def _is_asked(context: Context, call: ast.Call) -> bool:
    """`if self.cuda():`, which moves and is always true."""
    parent = context.index.parents[call]
    if isinstance(parent, ast.If | ast.IfExp | ast.While):
        return parent.test is call
    return isinstance(parent, ast.BoolOp | ast.UnaryOp)


def _gated(context: Context) -> set[FunctionNode | None]:
    """The functions (None: the module) with moves behind a test."""
    if _GATED not in context.memo:
        context.memo[_GATED] = {
            context.index.function(call)
            for call in context.index.calls.get("cuda", ())
            if isinstance(call.func, ast.Attribute)
            and not context.resolve(call.func)
            and settled(context, call)
        }
    found = context.memo[_GATED]
    assert isinstance(found, set)
    return found
