"""Models that a wrapper stands around: `nn.DataParallel(model)` has the model as its `.module`, and
the model itself has none. Where only machines with CUDA wrap it, a Mac finds no `.module`.
"""

from __future__ import annotations

import ast

from mpslint.semantics.worlds.core import Core
from mpslint.semantics.worlds.events import Kind
from mpslint.semantics.worlds.machines import GPUS, MAC, mac_of_cuda
from mpslint.semantics.worlds.values import (
    BOT,
    FALSE,
    INSTANCE,
    TRUE,
    Atom,
    Value,
    cases_of,
    lift,
)

WRAPPERS = frozenset({"torch.nn.DataParallel", "torch.nn.parallel.DataParallel"})
ATTRIBUTE = "module"


def wraps_on_some(value: Value) -> bool:
    """Whether something stands in a wrapper on some machine."""
    if value.__class__ is Atom:
        return value.wrapped is not None
    return any(atom.wrapped is not None for _, atom in cases_of(value))


def is_wrapped(value: Value) -> Value:
    """Whether something stands in a wrapper, in each world."""
    return lift(lambda atom: TRUE if atom.wrapped is not None else FALSE, value)


class Wrapping(Core):
    def inside(self, value: Value, node: ast.expr) -> Value:
        """The module that a wrapper stands around. Where there is no wrapper what follows is judged
        as if it had been asked for by itself."""
        wrapped = bare = 0
        wrapper: ast.Call | None = None
        for worlds, atom in cases_of(value):
            if atom.wrapped is not None:
                wrapped |= mac_of_cuda(worlds) | (worlds & GPUS) << 1
                wrapper = wrapper or atom.wrapped
            elif atom is not BOT and not _has_own(atom):
                bare |= worlds & MAC
        worlds = wrapped & bare & self.frame.mask
        if worlds:
            self.emit(Kind.UNWRAPPED, node, worlds=worlds, use=wrapper)
        return lift(lambda atom: atom.but(wrapped=None) if atom.wrapped else atom, value)


def _has_own(atom: Atom) -> bool:
    """Whether this is an object of a class that has an attribute of this name itself."""
    return atom.kind == INSTANCE and (
        ATTRIBUTE in atom.v.methods or atom.v.attribute(ATTRIBUTE) is not None
    )
