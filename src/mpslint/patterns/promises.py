"""What a fix will come to, as far as that costs little, so that `check` can say it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.model import Applicability
from mpslint.patterns.compared import asked_for_by_name
from mpslint.patterns.literal import replace_literal
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.named_gpus import several_gpus
from mpslint.patterns.place import comes_along, settles_somewhere
from mpslint.semantics.devices.gpu_numbers import number_beside

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.devices.devices import Literal, Slot

_MAY_SELECT = ("assignment", "return", "device")
"""Slots where a literal may become a selection itself, whatever its index."""


def literal_level(context: Context, literal: Literal, slot: Slot) -> Applicability | None:
    """The level of the fix for a CUDA literal at best; None where there is none."""
    if slot.kind not in _MAY_SELECT and (literal.computed_index or several_gpus(context)):
        return None
    torch = torch_name(context, literal.node)
    if torch is None and "torch" not in _imported(context) and not comes_along(context):
        return Applicability.UNSAFE
    is_asked = torch is None or slot.kind == "parameter" or _is_numbered(context, slot)
    if is_asked or settles_somewhere(context):
        # Rare, and often no place is left for a selection: what the fix comes to is asked.
        fix = replace_literal(context, literal, slot)
        return fix.applicability if fix is not None else None
    return Applicability.UNSAFE if asked_for_by_name(context, slot) else Applicability.SAFE


def _is_numbered(context: Context, slot: Slot) -> bool:
    """`torch.device("cuda", args.gpu)`: a place for the one GPU of a Mac has no second part."""
    return slot.kind == "device" and number_beside(context.names, slot.node) is not None


def _imported(context: Context) -> set[str]:
    return {
        (binding.qualified or "").split(".")[0]
        for _, binding in context.names.every_binding()
        if binding.kind == "import"
    }
