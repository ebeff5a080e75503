"""Loaders of which nobody hears that they pin no memory on a Mac: those that deal out the data of
several processes, one a GPU, and those of a look at a data set below the test of `__name__`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import is_main_block, keyword, last_name
from mpslint.semantics.syntax.index import FUNCTIONS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_SAMPLER = "torch.utils.data.distributed.DistributedSampler"
_SAMPLERS = frozenset({_SAMPLER, "torch.utils.data.DistributedSampler"})
_LOOKING = frozenset(
    {"enumerate", "iter", "len", "list", "next", "print", "range", "tqdm", "trange", "zip"}
)
"""What goes through a loader, or counts its batches, and hands them to nobody."""
_LEARNING = ("backward", "fit", "train")


def is_dealt_out(context: Context, loader: ast.Call) -> bool:
    """Whether a loader is given a `DistributedSampler`, which asks for a process group."""
    sampler = keyword(loader, "sampler")
    made: list[ast.expr | None] = [sampler]
    if isinstance(sampler, ast.Name):
        made = [binding.value for binding in context.flow.reaching(sampler)]
    return bool(made) and all(
        isinstance(one, ast.Call) and context.resolve(one.func) in _SAMPLERS for one in made
    )


def is_only_looked_at(context: Context, loader: ast.Call) -> bool:
    """Whether a program that knows no device and learns nothing goes through a loader below the
    test of `__name__`, to show what comes out of it."""
    main = next((x for x in context.tree.body if context.index.within(loader, x)), None)
    if main is None or not is_main_block(main):
        return False
    if any(isinstance(x, FUNCTIONS) for x in context.index.ancestors(loader)):
        return False
    if any(map(context.index.calls.get, _LEARNING)) or context.placement.program_uses_devices:
        return False
    parent = context.index.parents[loader]
    if not isinstance(parent, ast.Assign):
        return _is_gone_through(context, loader)
    return all(
        isinstance(target, ast.Name)
        and all(
            _is_gone_through(context, use)
            for use in context.index.names.get(target.id, ())
            if isinstance(use.ctx, ast.Load)
        )
        for target in parent.targets
    )


def _is_gone_through(context: Context, loader: ast.expr) -> bool:
    parent = context.index.parents[loader]
    if isinstance(parent, ast.For | ast.comprehension):
        return parent.iter is loader
    if isinstance(parent, ast.Attribute):
        return True  # `loader.dataset`, `loader.__iter__()`
    return isinstance(parent, ast.Call) and last_name(parent.func) in _LOOKING
