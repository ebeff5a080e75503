"""Which device a new selection asks for first: in a project that selects already, the same."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_ORDER = "the order in which new selections ask"
# Fact: the Python language reference: conditional expressions, and `if` with a block below it.
_SELECTS = re.compile(
    r"\b(?P<arm>cuda|mps)(?::[0-9]+)?[\"']\)?[ \t]+if[ \t]"
    r"|\bif[ \t][^\n]*\b(?P<test>cuda|mps)\.is_available\(\)[^\n]*:[ \t]*\r?\n"
    r"(?:[ \t]+[\w.]+\([^\n]*\)[ \t]*\r?\n){0,3}"
    r"[ \t]+(?:return\b|[^\n=]*=(?!=))[^\n=]*[\"'](?P=test)"
)
"""The first arm of a selection between devices, as an expression or as a statement, behind a few
calls (`torch.cuda.manual_seed(seed)`) at most."""


def first_asked(text: str) -> str:
    """The device that the first selection in a text asks for first; empty: there is none."""
    if "cuda" not in text:
        return ""
    found = _SELECTS.search(text)
    return "" if found is None else found["arm"] or found["test"]


def asks_cuda_first(texts: Iterable[str]) -> bool:
    """Whether most of the texts that select ask for CUDA first."""
    first = [first_asked(text) for text in texts]
    return first.count("cuda") > first.count("mps")


def asking_order(context: Context) -> tuple[str, ...]:
    """The order of a new selection. Where nobody has set one it is that of the selections that are
    there, in the file and else in the project: two orders for one thing look like two meanings."""
    known = context.memo.get(_ORDER)
    if known is None:
        known = context.memo[_ORDER] = _order(context)
    assert isinstance(known, tuple)
    return known


def _order(context: Context) -> tuple[str, ...]:
    settings, elsewhere = context.settings, context.elsewhere
    if settings.device_order_is_set:
        return settings.device_order
    own = first_asked(context.source.text)
    if not own and elsewhere is not None and elsewhere.asks_cuda_first(context.source.path):
        own = "cuda"
    return cuda_first(settings.device_order) if own == "cuda" else settings.device_order


def cuda_first(order: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(order, key=lambda backend: backend != "cuda"))
