"""Trainers that derive from the one of transformers, and what that keeps for CUDA."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.names.bases import inherits

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_USES_AMP = "use_amp"
"""Fact: `Trainer.use_amp` (`transformers/trainer.py`, up to 4.24) is true with `--fp16` or `--bf16`
alone, for which `transformers/training_args.py` of these versions raises `ValueError` off CUDA."""


def is_trainers_amp(context: Context, node: ast.AST) -> bool:
    """Whether `node` runs only where `self.use_amp` of transformers' `Trainer` is true."""
    if not context.index.attributes.get(_USES_AMP):
        return False
    klass = context.index.enclosing(node, ast.ClassDef)
    if not isinstance(klass, ast.ClassDef):
        return False
    child = node
    for parent in context.index.ancestors(node):
        if isinstance(parent, ast.If) and child in parent.body and _asks_for_amp(parent.test):
            return inherits(context, klass, _is_trainer)
        child = parent
    return False


def _asks_for_amp(test: ast.expr) -> bool:
    """`self.use_amp`, alone or among what has to hold."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(map(_asks_for_amp, test.values))
    return isinstance(test, ast.Attribute) and ast.unparse(test) == f"self.{_USES_AMP}"


def _is_trainer(base: str) -> bool | None:
    if not base.startswith("transformers."):
        return None
    return base.rpartition(".")[2] in ("Trainer", "Seq2SeqTrainer")
