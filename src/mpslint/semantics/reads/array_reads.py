"""Whether the tensor whose memory NumPy asks for can be on the GPU of a Mac.

The analysis by worlds knows it, or knows that it is not, or leaves it open. Left open, it can only
be inferred.
"""

from __future__ import annotations

import ast
import enum
from typing import TYPE_CHECKING

from mpslint.semantics.worlds.machines import MAC, PORTED
from mpslint.semantics.worlds.values import ENTRY, TENSOR, cases_of, where

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


class Read(enum.Enum):
    ON_GPU = "on the GPU"
    ON_HOST = "on the CPU, where nobody knows, or nowhere that a Mac comes to"
    OPEN = "may be inferred"


def read_of(context: Context, call: ast.Call) -> Read:
    """Where the tensor is that `call` gives to NumPy, on a Mac today or once it is asked for."""
    macs = MAC | PORTED
    if not context.worlds.reach(call) & macs:
        return Read.ON_HOST
    events = context.worlds.reads.get(call, ())
    found: set[str | None] = set()
    for event in events:
        for _, atom in cases_of(event.value, event.worlds & macs):
            found.add(where(atom) if atom.kind == TENSOR else None)
    if "mps" in found:
        return Read.ON_GPU
    if events and None not in found:
        # On the CPU, brought to a device that only its user knows, or for CUDA alone.
        return Read.ON_HOST
    return Read.OPEN


def is_read_of_entry(context: Context, call: ast.Call) -> bool:
    """Whether `call` gives NumPy what a module out of sight keeps under a text, wherever that is
    on the GPU of a Mac: it may be an array as well."""
    atoms = [
        atom
        for event in context.worlds.reads.get(call, ())
        for _, atom in cases_of(event.value, event.worlds & (MAC | PORTED))
        if where(atom) == "mps"
    ]
    return bool(atoms) and all(atom.unread == ENTRY for atom in atoms)
