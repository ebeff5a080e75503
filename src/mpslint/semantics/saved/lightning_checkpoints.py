"""Checkpoints that Lightning keeps: who has it keep some, and who reads one without Lightning.

A trainer on CUDA writes the tensors of its module as they lie there, below the key `state_dict`.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.facts.machines import LIGHTNING
from mpslint.semantics.syntax.expressions import last_name

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

# Fact: `lightning.pytorch.callbacks.ModelCheckpoint`; `CheckpointConnector.dump_checkpoint` names
# the key.
_KEEPER = "ModelCheckpoint"
KEEPING = frozenset({_KEEPER.encode()})
"""Words without which a file has no checkpoints kept."""
_KEY = "state_dict"


def has_them_kept(context: Context) -> bool:
    """Whether the file has Lightning keep checkpoints of what it trains."""
    return any(
        (context.resolve(call.func) or "").startswith(LIGHTNING)
        for call in context.index.calls.get(_KEEPER, ())
    )


def reads_one(context: Context, call: ast.Call) -> bool:
    """Whether the state of a module is taken out of what is loaded, as Lightning lays it out."""
    if _takes_state(context, call):
        return True
    parent = context.index.parents[call]
    return (
        isinstance(parent, ast.Assign)
        and len(parent.targets) == 1
        and isinstance(parent.targets[0], ast.Name)
        and any(
            _takes_state(context, use)
            for use in context.index.of(ast.Name)
            if use.id == parent.targets[0].id
            and any(binding.value is call for binding in context.flow.reaching(use))
        )
    )


def _takes_state(context: Context, loaded: ast.expr) -> bool:
    """`loaded["state_dict"]`, `loaded.get("state_dict")`"""
    parent = context.index.parents[loaded]
    key: ast.expr | None = None
    if isinstance(parent, ast.Subscript) and parent.value is loaded:
        key = parent.slice
    elif isinstance(parent, ast.Attribute):
        asked = context.index.parents[parent]
        if isinstance(asked, ast.Call) and last_name(asked.func) in ("get", "pop") and asked.args:
            key = asked.args[0]
    return isinstance(key, ast.Constant) and key.value == _KEY
