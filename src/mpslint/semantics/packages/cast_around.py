"""Mixed precision that a network switches off for CUDA alone, inside one that others switch on.

`with autocast("cuda", enabled=False)` in a `forward` says that who calls this may have it on. Where
a program of the project has, its autocast is on on MPS once that is ported, and this one does not
switch it off there.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.worlds.events import Event, Kind
from mpslint.semantics.worlds.machines import MACS
from mpslint.semantics.worlds.values import cases_of, where

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def uncast_by_others(context: Context) -> list[Event]:
    """The autocasts that are switched off for CUDA alone in the methods of a network, in a project
    of which a program has one on around them."""
    found = [
        event
        for event in context.worlds.events(Kind.UNCAST)
        if event.likely
        and event.worlds & MACS
        and isinstance(event.node, ast.Call)
        and _is_for_cuda(event)
        and _in_network(context, event.node)
    ]
    if not found or any(_is_for_mps(event) for event in context.worlds.events(Kind.UNCAST)):
        return []
    if switches_on(context):
        return found
    around = context.elsewhere
    return found if around is not None and around.casts_around(context.source.path) else []


def switches_on(context: Context) -> bool:
    """Whether a file switches mixed precision on, outside of the networks that it defines, for a
    Mac as well once that is ported."""
    return any(
        event.worlds & MACS and not event.caught and not _in_network(context, event.node)
        for event in context.worlds.events(Kind.AUTOCAST)
    )


def _is_for_cuda(event: Event) -> bool:
    atoms = [atom for _, atom in cases_of(event.value, event.worlds & MACS)]
    return bool(atoms) and all(atom.v == "cuda" and not atom.maybe for atom in atoms)


def _is_for_mps(event: Event) -> bool:
    return any(where(atom) == "mps" for _, atom in cases_of(event.value, event.worlds & MACS))


def _in_network(context: Context, node: ast.AST) -> bool:
    """Whether this runs when somebody calls a network: it stands in a method of one."""
    function = context.index.function(node)
    while function is not None:
        around = context.index.parents.get(function)
        if isinstance(around, ast.ClassDef):
            return function.name != "__init__" and context.values.is_module_class(around)
        function = context.index.function(function)
    return False
