"""Devices that hang on what the user was asked, and devices that do not.

A program that runs on a Mac today although `"cuda" if config.use_gpu else "cpu"` is in it runs with
the switch off: its tensors are on the CPU. Another file of that program which takes the Mac's GPU
without asking would bring its tensors where the others are not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.worlds.events import Event, Kind
from mpslint.semantics.worlds.machines import MAC
from mpslint.semantics.worlds.values import DEVICE, cases_of

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_CHOSEN = (Kind.PLACED, Kind.KEPT)


def off_on_macs(context: Context) -> ast.AST | None:
    """Where a device is chosen that only a user who switches it off can have on a Mac."""
    for event in context.worlds.events(*_CHOSEN):
        if not event.caught and _on_mac(event) == {"cuda", "cpu"}:
            return event.node
    return None


def takes_mps(context: Context) -> bool:
    """Whether a Mac that comes here has its GPU in use, whatever its user says."""
    return any("mps" in found and "cpu" not in found for found in _chosen(context))


def _chosen(context: Context) -> Iterator[set[str]]:
    return (_on_mac(event) for event in context.worlds.events(*_CHOSEN))


def _on_mac(event: Event) -> set[str]:
    """The devices that a choice may come to on a Mac, as far as they are known."""
    return {
        str(atom.v)
        for _, atom in cases_of(event.value, event.worlds & MAC)
        if atom.kind == DEVICE and atom.v != "?"
    }
