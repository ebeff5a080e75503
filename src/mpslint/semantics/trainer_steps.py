"""Steps that a trainer out of sight runs: `training_step` of a module of Lightning's.

The trainer moves the module and each batch to the accelerator, calls this method once a step, and
goes back through what it returns. So the method trains on a device, in a file that names neither
`backward()` nor a device.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.facts.machines import LIGHTNING
from mpslint.semantics.index import FunctionNode

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

STEP = "training_step"
_KNOWN = "trainer-steps"
_BASES = 3
"""A project's own base class of its modules, that one's base, and Lightning's."""


def is_trainer_step(context: Context, function: FunctionNode) -> bool:
    """Whether a trainer calls `function` once at each step of training."""
    if function.name != STEP:
        return False
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
        known[klass] = _derives(context, klass, _BASES)
    return known[klass]


def _derives(context: Context, klass: ast.ClassDef, depth: int) -> bool:
    for base in klass.bases:
        name = context.resolve(base)
        if name is not None and name.startswith(LIGHTNING):
            if name.rpartition(".")[2] == "LightningModule":
                return True
            continue
        if not depth:
            continue
        bindings = context.names.bindings(base.id, base) if isinstance(base, ast.Name) else []
        for binding in bindings:
            if isinstance(binding.node, ast.ClassDef) and binding.node is not klass:
                if _derives(context, binding.node, depth - 1):
                    return True
        found = context.definition_elsewhere(name) if name is not None else None
        for other in found.bindings if found is not None else ():
            if isinstance(other.node, ast.ClassDef):
                if _derives(found.context, other.node, depth - 1):  # type: ignore[union-attr]
                    return True
    return False
