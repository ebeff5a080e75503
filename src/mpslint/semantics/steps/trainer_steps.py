"""Steps that a trainer out of sight runs: `training_step` of a module of Lightning's.

The trainer moves the module and each batch to the accelerator, calls this method once a step, and
goes back through what it returns. So the method trains on a device, in a file that names neither
`backward()` nor a device.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.facts.machines import LIGHTNING
from mpslint.semantics.names.bases import inherits
from mpslint.semantics.syntax.index import FunctionNode

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

STEP = "training_step"
EVALUATIONS = frozenset({"validation_step", "test_step"})
"""What the same trainer calls for each batch of an evaluation, and keeps what it returns."""
_KNOWN = "trainer-steps"


def is_trainer_step(context: Context, function: FunctionNode) -> bool:
    """Whether a trainer calls `function` once at each step of training."""
    return function.name == STEP and _is_of_trained(context, function)


def is_trainer_evaluation(context: Context, function: FunctionNode) -> bool:
    """Whether a trainer calls `function` once for each batch of an evaluation."""
    return function.name in EVALUATIONS and _is_of_trained(context, function)


def _is_of_trained(context: Context, function: FunctionNode) -> bool:
    klass = context.index.parents[function]
    return isinstance(klass, ast.ClassDef) and is_trained(context, klass)


def has_trainer_step(context: Context) -> bool:
    """Whether this file writes such a step; cheap where none is named so."""
    return STEP.encode() in context.source.data and any(
        isinstance(item, ast.FunctionDef) and is_trainer_step(context, item)
        for item in context.index.of(ast.FunctionDef)
        if item.name == STEP
    )


def is_trained(context: Context, klass: ast.ClassDef) -> bool:
    """Whether a class is a module that Lightning's trainer places."""
    known: dict[ast.ClassDef, bool]
    known = context.memo.setdefault(_KNOWN, {})  # type: ignore[assignment]
    if klass not in known:
        known[klass] = False  # It may be its own base by mistake.
        known[klass] = inherits(context, klass, _is_of_lightning)
    return known[klass]


def _is_of_lightning(base: str) -> bool | None:
    return base.rpartition(".")[2] == "LightningModule" if base.startswith(LIGHTNING) else None
