"""What stands where a package for CUDA alone could not be imported: nothing that can be used.

`try: import cupy` leaves a Mac `None`, no name at all, or an object that raises whatever is asked
of it. Who uses that without asking whether it is there ends there, as the import itself would.
"""

from __future__ import annotations

from mpslint.facts.priors import package_worlds
from mpslint.semantics.syntax.expressions import only_raise
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.worlds.machines import NVIDIA
from mpslint.semantics.worlds.state import Class
from mpslint.semantics.worlds.values import (
    BOT,
    CONST,
    INSTANCE,
    NAME,
    UNKNOWN,
    Atom,
    Cases,
    Value,
    cases_of,
    pack,
)

BUILT = "torch.utils.cpp_extension.load.built"
"""What stands for an extension that a project has compiled for CUDA."""
_ALWAYS_ASKED = ("__getattr__", "__call__")
"""What an object is asked for that is none of what it has."""


def lacking(value: Value, worlds: int) -> int:
    """The worlds, of these, in which something that a program uses is but a stand-in."""
    if value.__class__ is not Cases:
        return 0
    cases = list(cases_of(value, worlds))
    names = [str(atom.v) for _, atom in cases if atom.kind == NAME]
    is_for_some = any(name == BUILT or package_worlds(name) for name in names)
    if not is_for_some and not any(_refuses_all(atom) for _, atom in cases):
        return 0
    found = 0
    for mask, atom in cases:
        nothing = atom is BOT or (atom.kind == CONST and atom.v is None and not atom.maybe)
        if nothing or _refuses_all(atom):
            found |= mask
        elif atom.kind not in (NAME, UNKNOWN):
            return 0  # Something else takes its place.
    return found


def as_extension(value: Value) -> Value:
    """What a module holds that has nothing on a Mac where it could not import, nor build, what it
    compiles for CUDA: the extension, on the other machines."""
    if value.__class__ is not Cases:
        return value
    cases = list(cases_of(value))
    for mask, atom in cases:
        is_nothing = atom.kind == CONST and atom.v is None and not atom.maybe
        if not is_nothing and (mask & ~NVIDIA or atom.kind not in (NAME, UNKNOWN)):
            return value
    return pack([(mask, Atom(NAME, BUILT) if atom.kind != CONST else atom) for mask, atom in cases])


def _refuses_all(atom: Atom) -> bool:
    """Whether an object raises whenever it is used."""
    if atom.kind != INSTANCE or not isinstance(atom.v, Class) or atom.v.node is None:
        return False
    methods = {item.name: item for item in atom.v.node.body if isinstance(item, FUNCTIONS)}
    return all(name in methods and only_raise(methods[name].body) for name in _ALWAYS_ASKED)
