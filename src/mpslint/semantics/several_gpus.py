"""Code for several GPUs: process groups on NCCL, FSDP, one process for each device.

A Mac has one GPU. What only runs below `if args.distributed:`, `if world_size > 1:` or in a set-up
of processes is out of its reach, whatever it would raise there.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from mpslint.semantics.collectives import WRAPPERS, is_optional
from mpslint.semantics.index import FUNCTIONS
from mpslint.semantics.purpose import starts_nccl
from mpslint.semantics.value_syntax import last_name

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_WORD = re.compile(
    r"distributed|fsdp|nccl|deepspeed|torchrun|slurm|(^|_)ddp(_|$)|multi_?(gpu|node|process)", re.I
)
_STEM = re.compile(r"fsdp|deepspeed|multi_?(gpu|node)|(^|_)ddp(_|$)", re.I)
_COUNT = re.compile(
    r"(^|_)(world_?size|n_?gpus?(_per_node)?|ngpus?|num_?(gpus?|processes|nodes)|device_count)$",
    re.I,
)
_LOCAL_RANK = re.compile(r"(^|_)local_rank$|^LOCAL_RANK$", re.I)
_LAUNCHED = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "SLURM_PROCID")
"""What launchers of several processes set in the environment."""
_COMPANY = (*WRAPPERS, "torch.distributed.barrier")
_WRAPPING = ("FSDP", "FullyShardedDataParallel", "DDP", "DistributedDataParallel")


def for_several_gpus(context: Context, node: ast.AST) -> bool:
    """Whether `node` only runs with several GPUs, by the code around it or its file's purpose."""
    child = node
    for parent in context.index.ancestors(node):
        if isinstance(parent, ast.If | ast.IfExp):
            body = parent.body if isinstance(parent.body, list) else [parent.body]
            if any(child is item for item in body) and _asks_for_several(parent.test):
                return True
        elif isinstance(parent, FUNCTIONS):
            if _WORD.search(parent.name):
                return True
        elif isinstance(parent, ast.ClassDef):
            if _always_wraps(context, parent):
                return True
        elif isinstance(parent, ast.Call) and child is not parent.func:
            if last_name(parent.func) in _WRAPPING:
                return True
        child = parent
    return program_for_several(context)


def program_for_several(context: Context) -> bool:
    """Whether the whole file is for several GPUs, by its name, its imports or what it starts."""
    known = context.memo.get("several-gpus")
    if known is None:
        stem = re.split(r"[/\\]", context.source.path)[-1].partition(".")[0]
        known = context.memo["several-gpus"] = (
            _STEM.search(stem) is not None
            or starts_nccl(context)
            or any(name.startswith("torch.distributed.fsdp.") for name in context.aliases)
            or _always_in_company(context)
        )
    return bool(known)


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


def _asks_for_several(test: ast.expr) -> bool:
    if isinstance(test, ast.BoolOp):
        every = isinstance(test.op, ast.Or)
        return (all if every else any)(_asks_for_several(item) for item in test.values)
    if isinstance(test, ast.Compare):
        return len(test.ops) == 1 and _compares_several(test)
    word = last_name(test.func if isinstance(test, ast.Call) else test)
    return word is not None and _WORD.search(word) is not None


def _compares_several(test: ast.Compare) -> bool:
    """`world_size > 1`, `local_rank != -1`, `strategy == "fsdp"`, `"RANK" in os.environ`"""
    left, operator, right = test.left, test.ops[0], test.comparators[0]
    if isinstance(operator, ast.In):
        return isinstance(left, ast.Constant) and left.value in _LAUNCHED
    if isinstance(operator, ast.Eq):
        if isinstance(right, ast.Attribute):
            return _WORD.search(right.attr) is not None
        word = right.value if isinstance(right, ast.Constant) else None
        return isinstance(word, str) and _WORD.search(word) is not None
    number = _number(right)
    if number is None:
        return False
    names = _words(left)
    if any(_LOCAL_RANK.search(name) for name in names):
        return (type(operator), number) in ((ast.NotEq, -1), (ast.Gt, -1), (ast.GtE, 0))
    if any(_COUNT.search(name) for name in names):
        return (type(operator), number) in ((ast.NotEq, 1), (ast.Gt, 1), (ast.GtE, 2))
    return False


def _words(node: ast.expr) -> list[str]:
    """Names and texts of `args.world_size`, `get_world_size()`, `int(os.environ["LOCAL_RANK"])`."""
    if isinstance(node, ast.Call) and last_name(node.func) in ("int", "get", "getenv"):
        return [word for argument in node.args for word in _words(argument)]
    if isinstance(node, ast.Subscript):
        return _words(node.slice)
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    word = last_name(node.func if isinstance(node, ast.Call) else node)
    return [word] if word is not None else []


def _number(node: ast.expr) -> int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return -inner if inner is not None else None
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    return None
