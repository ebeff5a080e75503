"""A refusal to run without CUDA is opened together with the devices that are written out behind it.

Either alone is a port by halves: a Mac that is let in asks for CUDA at the first of them, and a
device that is selected where no Mac comes is never MPS.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Fix
from mpslint.patterns.literal import replace_literal
from mpslint.patterns.promises import literal_level
from mpslint.patterns.refusal import admit_mps
from mpslint.semantics.worlds.choices import Behind, behind_cuda

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.devices.devices import Literal, Slot

_KEY = "opened with its devices"


def literal_slot(context: Context, node: ast.expr) -> Slot | None:
    """Where the device at `node` is expected, if it is a literal."""
    return context.devices.slot(node) if _literal(context, node) is not None else None


def is_replaceable(context: Context, node: ast.expr) -> bool:
    """Whether a fix may select the device at `node`, as far as is known without building it."""
    literal, slot = _literal(context, node), literal_slot(context, node)
    return (
        literal is not None
        and slot is not None
        and literal_level(context, literal, slot) is not None
    )


def open_refusal(context: Context, refusal: ast.expr) -> Fix | None:
    """Lets MPS in, and selects the devices that are written out behind; None where the refusal
    cannot be opened."""
    known: dict[ast.expr, Fix | None] = context.memo.setdefault(_KEY, {})  # type: ignore[assignment]
    if refusal not in known:
        admitted = admit_mps(context, refusal)
        devices = [
            fix
            for behind in behind_cuda(context.worlds)
            if admitted is not None and behind.refusal is refusal
            if (fix := _selected(context, behind.node)) is not None
        ]
        if admitted is not None and devices:
            edits = (*admitted.edits, *(edit for fix in devices for edit in fix.edits))
            message = f"{admitted.message}, and select the device"
            admitted = Fix(message, tuple(dict.fromkeys(edits)), Applicability.UNSAFE)
        known[refusal] = admitted
    return known[refusal]


def device_behind(context: Context, behind: Behind) -> Fix | None:
    """The fix of a device behind a refusal: that of the refusal, which has it as a part."""
    alone = _selected(context, behind.node)
    if alone is None or behind.refusal is None:
        return alone
    together = open_refusal(context, behind.refusal)
    return together if together is not None else alone


def _selected(context: Context, node: ast.expr) -> Fix | None:
    literal, slot = _literal(context, node), literal_slot(context, node)
    if literal is None or slot is None or literal_level(context, literal, slot) is None:
        return None
    fix = replace_literal(context, literal, slot)
    return fix._replace(applicability=Applicability.UNSAFE) if fix is not None else None


def _literal(context: Context, node: ast.expr) -> Literal | None:
    return next((item for item in context.devices.literals if item.node is node), None)
