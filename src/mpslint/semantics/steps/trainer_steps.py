"""Steps that a trainer out of sight runs: `training_step` of a module of Lightning's.

The trainer moves the module and each batch to the accelerator, calls this method once a step, and
goes back through what it returns. So the method trains on a device, in a file that names neither
`backward()` nor a device. The same trainer calls the hooks of its callbacks at each step and gives
them what the step has handed back; that of transformers asks `compute_loss` of who inherits from
it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from mpslint.facts.machines import LIGHTNING
from mpslint.facts.trainer_hooks import (
    EVALUATION_HOOKS,
    EVALUATIONS,
    HOOK_WORDS,
    LOSS_METHOD,
    METRIC_METHOD,
    STEP,
    STEP_HOOKS,
    places_of_tensors,
)
from mpslint.semantics.names.bases import inherits
from mpslint.semantics.syntax.expressions import root_of
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode
from mpslint.semantics.syntax.parameters import positional_names

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_KNOWN = "trainer-steps"


def is_trainer_step(context: Context, function: FunctionNode) -> bool:
    """Whether a trainer calls `function` once at each step of training."""
    if function.name == LOSS_METHOD:
        return _is_method(context, function, is_of_transformers)
    if function.name in STEP_HOOKS and _is_method(context, function, is_callback):
        return True
    return (function.name == STEP or function.name in STEP_HOOKS) and _is_method(
        context, function, is_trained
    )


def is_trainer_evaluation(context: Context, function: FunctionNode) -> bool:
    """Whether a trainer calls `function` once for each batch of an evaluation."""
    if function.name in EVALUATION_HOOKS and _is_method(context, function, is_callback):
        return True
    return (function.name in EVALUATIONS or function.name in EVALUATION_HOOKS) and _is_method(
        context, function, is_trained
    )


def is_told_a_metric(context: Context, node: ast.expr) -> bool:
    """Whether `node` is what a metric of torchmetrics is told for each batch, or a part of that."""
    function, node = context.index.function(node), root_of(node, ast.Subscript)
    return (
        function is not None
        and isinstance(node, ast.Name)
        and function.name == METRIC_METHOD
        and all(binding.kind == "parameter" for binding in context.flow.reaching(node))
        and _is_method(context, function, is_metric)
    )


def given_by_trainer(context: Context, function: FunctionNode) -> frozenset[str]:
    """The parameters of such a method for which the trainer gives what it has brought to the
    device, or a step has computed there."""
    of_callback = _is_method(context, function, is_callback)
    places = places_of_tensors(function.name, of_callback=of_callback)
    if not places:
        return frozenset()
    if not is_trainer_step(context, function) and not is_trainer_evaluation(context, function):
        return frozenset()
    names = positional_names(function.args)[1:]
    return frozenset(names[place] for place in places if place < len(names))


def _is_method(
    context: Context, function: FunctionNode, of: Callable[[Context, ast.ClassDef], bool]
) -> bool:
    klass = context.index.parents[function]
    return isinstance(klass, ast.ClassDef) and of(context, klass)


def has_trainer_step(context: Context) -> bool:
    """Whether this file writes such a step; cheap where none is named so."""
    return any(word in context.source.data for word in HOOK_WORDS) and any(
        isinstance(item, FUNCTIONS) and is_trainer_step(context, item)
        for item in context.index.of(ast.FunctionDef)
    )


def has_trainer_evaluation(context: Context) -> bool:
    """Whether this file writes what a callback does for each batch of an evaluation; cheap where
    nothing is named so."""
    return any(name.encode() in context.source.data for name in EVALUATION_HOOKS) and any(
        isinstance(item, FUNCTIONS) and is_trainer_evaluation(context, item)
        for item in context.index.of(ast.FunctionDef)
    )


def is_trained(context: Context, klass: ast.ClassDef) -> bool:
    """Whether a class is a module that Lightning's trainer places."""
    return _inherits(context, klass, _is_of_lightning)


def is_callback(context: Context, klass: ast.ClassDef) -> bool:
    """Whether a class is one whose hooks Lightning's trainer calls."""
    return _inherits(context, klass, _is_callback)


def is_metric(context: Context, klass: ast.ClassDef) -> bool:
    """Whether a class is a metric of torchmetrics, which is moved with its module."""
    return _inherits(context, klass, _is_metric)


def is_of_transformers(context: Context, klass: ast.ClassDef) -> bool:
    """Whether a class is a trainer of transformers, which places its model and its batches."""
    return _inherits(context, klass, _is_of_transformers)


def _inherits(context: Context, klass: ast.ClassDef, says: Callable[[str], bool | None]) -> bool:
    known: dict[tuple[ast.ClassDef, object], bool]
    known = context.memo.setdefault(_KNOWN, {})  # type: ignore[assignment]
    key = klass, says
    if key not in known:
        known[key] = False  # It may be its own base by mistake.
        known[key] = inherits(context, klass, says)
    return known[key]


def _is_of_lightning(base: str) -> bool | None:
    return base.rpartition(".")[2] == "LightningModule" if base.startswith(LIGHTNING) else None


def _is_callback(base: str) -> bool | None:
    if not base.startswith(LIGHTNING):
        return None
    return base.rpartition(".")[2] == "Callback" or ".callbacks." in base


def _is_metric(base: str) -> bool | None:
    return True if base.startswith("torchmetrics.") else None


def _is_of_transformers(base: str) -> bool | None:
    if not base.startswith("transformers."):
        return None
    return base.rpartition(".")[2] in ("Trainer", "Seq2SeqTrainer")
