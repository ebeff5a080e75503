"""Code for several GPUs: process groups on NCCL, FSDP, one process for each device.

A Mac has one GPU. What only runs below `if args.distributed:`, `if world_size > 1:` or in a set-up
of processes is out of its reach, whatever it would raise there.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.gpus.collectives import WRAPPERS, is_optional
from mpslint.semantics.names.flow import leaves
from mpslint.semantics.purpose.purpose import nccl_starts, starts_nccl
from mpslint.semantics.purpose.several_tests import asks_for_several
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode
from mpslint.semantics.uses.unused import has_main

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_COMPANY = (*WRAPPERS, "torch.distributed.barrier")
_WRAPPING = ("FSDP", "FullyShardedDataParallel", "DDP", "DistributedDataParallel")


def for_several_gpus(context: Context, node: ast.AST) -> bool:
    """Whether `node` only runs with several GPUs, by the code around it or its file's purpose."""
    return _stands_for_several(context, node) or program_for_several(context)


def needs_several_gpus(context: Context, node: ast.AST) -> bool:
    """The same, of a file that has no other purpose: what may also run in one process does."""
    return _stands_for_several(context, node) or program_needs_several(context)


def _stands_for_several(context: Context, node: ast.AST) -> bool:
    child = node
    for parent in context.index.ancestors(node):
        if isinstance(parent, ast.If | ast.IfExp):
            for arm, outcome in ((parent.body, True), (parent.orelse, False)):
                items = arm if isinstance(arm, list) else [arm]
                if any(child is x for x in items) and asks_for_several(
                    context, parent.test, outcome
                ):
                    return True
        elif isinstance(parent, FUNCTIONS):
            if _called_for_several(context, parent):
                return True
        elif isinstance(parent, ast.ClassDef):
            if _always_wraps(context, parent):
                return True
        elif isinstance(parent, ast.Call) and child is not parent.func:
            if last_name(parent.func) in _WRAPPING:
                return True
        if isinstance(child, ast.stmt) and _behind_refusal(context, child):
            return True
        child = parent
    return False


def _behind_refusal(context: Context, statement: ast.stmt) -> bool:
    """Behind `if args.distributed: ... else: raise`, in its block."""
    parent = context.index.parents[statement]
    return any(
        context.index.parents[refusal] is parent
        and refusal.lineno < statement.lineno
        and refusal in context.index.block(statement)
        for refusal in _refusals(context)
    )


def _refusals(context: Context) -> list[ast.If]:
    """Where the file goes on with several GPUs only: the other arms leave."""
    known = context.memo.get("single-gpu-refusals")
    if known is None:
        known = context.memo["single-gpu-refusals"] = [
            item for item in context.index.of(ast.If) if _refuses_one(context, item)
        ]
    assert isinstance(known, list)
    return known


def _refuses_one(context: Context, statement: ast.If) -> bool:
    """Whether an arm of an `if` leaves, and each that does not is for several GPUs."""
    several, left, stayed = False, False, False
    while True:
        if leaves(statement.body):
            left = True
        elif several or asks_for_several(context, statement.test):
            stayed = True
        else:
            return False
        several = several or asks_for_several(context, statement.test, False)
        if len(statement.orelse) != 1 or not isinstance(statement.orelse[0], ast.If):
            break
        statement = statement.orelse[0]
    if leaves(statement.orelse):
        return stayed
    return left and several


def _called_for_several(context: Context, function: FunctionNode) -> bool:
    """Whether a function that only its own file can know is mentioned for several GPUs alone."""
    known: dict[ast.AST, bool] = context.memo.setdefault("called-for-several", {})  # type: ignore[assignment]
    if function not in known:
        known[function] = False  # One that calls itself, on the way round.
        callers = context.guards.callers
        if _is_own(context, function) and not callers.named_by_frameworks(function, folders=False):
            sites = callers.mentions(function)
            known[function] = bool(sites) and all(for_several_gpus(context, x) for x in sites)
    return known[function]


def _is_own(context: Context, function: FunctionNode) -> bool:
    """Of a script, private by its name, or inside another function."""
    if function.name.startswith("_") or has_main(context):
        return True
    return isinstance(context.index.parents[function], FUNCTIONS)


def program_for_several(context: Context) -> bool:
    """Whether the whole file is for several GPUs, by its imports or what it starts."""
    known = context.memo.get("several-gpus")
    if known is None:
        known = context.memo["several-gpus"] = (
            starts_nccl(context) or _shards(context) or _always_in_company(context)
        )
    return bool(known)


def program_needs_several(context: Context) -> bool:
    """Whether the whole file is for several GPUs whatever it is asked for."""
    known = context.memo.get("needs-several-gpus")
    if known is None:
        known = context.memo["needs-several-gpus"] = (
            always_joins_nccl(context) or _always_shards(context) or _always_in_company(context)
        )
    return bool(known)


def always_joins_nccl(context: Context) -> bool:
    """Whether the file starts a process group on NCCL whatever it is asked for."""
    return any(_is_always_run(context, call) for call in nccl_starts(context))


def _is_always_run(context: Context, call: ast.Call) -> bool:
    """Whether a call stands under no test, and its function is used under none either: called by
    its name, or handed to what starts a process for each GPU."""
    if is_optional(context, call):
        return False
    function = context.index.function(call)
    if not isinstance(function, FUNCTIONS):
        return True
    uses = [x for x in context.index.names.get(function.name, ()) if isinstance(x.ctx, ast.Load)]
    return any(not is_optional(context, use) for use in uses)


def _shards(context: Context) -> bool:
    return any(name.startswith("torch.distributed.fsdp.") for name in context.aliases)


def _always_shards(context: Context) -> bool:
    """Whether FSDP is imported with the module: what a branch imports serves those who ask."""
    return any(
        (item.module or "").startswith("torch.distributed.fsdp")
        and isinstance(context.index.parents[item], ast.Module)
        for item in context.index.of(ast.ImportFrom)
    )


def _always_in_company(context: Context) -> bool:
    """Whether a program joins a process group whatever it is asked for, by a helper of its project
    (`init_distributed_mode(args)`), and then counts on the other processes being there."""
    joins = any(
        name.startswith("init_distributed") and not all(is_optional(context, c) for c in calls)
        for name, calls in context.index.calls.items()
    )
    return joins and any(not is_optional(context, call) for call in context.calls_of(*_COMPANY))


def _always_wraps(context: Context, owner: ast.ClassDef) -> bool:
    """Whether a method of the class puts its model into DDP or FSDP, whatever it is asked for."""
    for call in context.calls_of(*WRAPPERS):
        function = context.index.function(call)
        if function is not None and context.index.parents[function] is owner:
            if context.index.parents[context.index.statement(call)] is function:
                return True
    return False
