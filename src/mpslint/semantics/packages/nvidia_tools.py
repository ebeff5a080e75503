"""Programs that measure NVIDIA's GPUs: they ask its driver (NVML) in the course of their work,
whatever their user says, and end without it, or have to be told one of its cards."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.facts.priors import matches
from mpslint.semantics.syntax.expressions import keyword
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.uses.switch_defaults import is_asked_for
from mpslint.semantics.uses.unused import is_program
from mpslint.semantics.worlds.machines import MAC

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_WORD = b"nvmlInit"
_CHOICES = b"choices"
# Fact: nvidia-ml-py, py3nvml and nvidia-ml-py3: they load libnvidia-ml, which comes with the
# driver, and raise NVMLError_LibraryNotFound without it.
_STARTS = tuple(
    f"{module}.{name}"
    for module in ("pynvml", "py3nvml.py3nvml", "nvidia_smi")
    for name in ("nvmlInit", "nvmlInitWithFlags")
)
_MOST_CALLERS = 4
"""So many functions stand between the program and what asks the driver."""


def is_about_nvidia(context: Context) -> bool:
    """Whether the file is a program that asks NVIDIA's driver on the way that everybody takes who
    starts it: behind no test for CUDA, no option that is off by default, and no `try`; or a program
    that only takes NVIDIA's cards for an option which must be given."""
    if _CHOICES in context.source.data and _is_for_cards(context):
        return True
    if _WORD not in context.source.data:
        return False
    known = context.memo.get("about-nvidia")
    if known is None:
        known = context.memo["about-nvidia"] = is_program(context) and any(
            _is_needed(context, call, _MOST_CALLERS) for call in context.calls_of(*_STARTS)
        )
    return bool(known)


def _is_for_cards(context: Context) -> bool:
    """`parser.add_argument("--device", choices=["4090", "a100"], required=True)`"""
    known = context.memo.get("for-cards")
    if known is None:
        known = context.memo["for-cards"] = is_program(context) and any(
            _asks_for_card(option) for option in context.index.calls.get("add_argument", ())
        )
    return bool(known)


def _asks_for_card(option: ast.Call) -> bool:
    required, choices = keyword(option, "required"), keyword(option, "choices")
    if not isinstance(required, ast.Constant) or required.value is not True:
        return False
    cards = choices.elts if isinstance(choices, ast.List | ast.Tuple) else []
    return bool(cards) and all(
        isinstance(card, ast.Constant) and matches("nvidia-cards", str(card.value))
        for card in cards
    )


def _is_needed(context: Context, call: ast.Call, steps: int) -> bool:
    """Whether the program comes to a call whatever its user says, and ends where it raises."""
    if is_asked_for(context, call) or _is_tried(context, call):
        return False
    if not context.worlds.comes_to(call) & MAC:
        return False
    function = context.index.function(call)
    if function is None:
        return True
    if steps == 0 or not isinstance(context.index.parents[function], ast.Module):
        return False
    return any(
        isinstance(caller.func, ast.Name) and _is_needed(context, caller, steps - 1)
        for caller in context.index.calls.get(function.name, ())
        if not context.index.within(caller, function)
    )


def _is_tried(context: Context, call: ast.Call) -> bool:
    """Whether handlers take what a call raises."""
    child: ast.AST = call
    for parent in context.index.ancestors(call):
        if isinstance(parent, ast.Try) and parent.handlers and child in parent.body:
            return True
        if isinstance(parent, FUNCTIONS):
            return False
        child = parent
    return False
