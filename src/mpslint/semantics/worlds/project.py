"""What a file takes from the other files of its project: values of their names, classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.semantics.worlds.joining import join
from mpslint.semantics.worlds.machines import ALL, NVIDIA, PARTS
from mpslint.semantics.worlds.values import BOT, CLASS, TENSOR, UNKNOWN, Atom, Value, cases_of, pack

if TYPE_CHECKING:
    from collections.abc import Container

    from mpslint.semantics.elsewhere import Elsewhere
    from mpslint.semantics.worlds.state import Class


class Imports:
    """Implements `core.Project` for one file. Other files are read and run in the abstract, never
    imported; one file deep, and through re-exports."""

    def __init__(self, elsewhere: Elsewhere, path: str) -> None:
        self._elsewhere = elsewhere
        self._path = path
        self._known: dict[str, Value | None] = {}

    def value(self, qualified: str) -> Value | None:
        if qualified not in self._known:
            self._known[qualified] = self._ask(qualified)
        return self._known[qualified]

    def imports_on(self, module: str) -> int:
        return self._elsewhere.imports_on(self._path, module)

    def entered(self, name: str) -> int:
        """The worlds in which the files beside this one use a function of it at all."""
        facts = self._elsewhere.entered(self._path, name)
        return NVIDIA if "cuda" in facts else ALL

    def base(self, qualified: str) -> Class | None:
        value = self._elsewhere.held(self._path, qualified, classes=True)
        if value.__class__ is not Atom or value.kind != CLASS:
            return None
        cls: Class = value.v
        made = cls.methods.get("__init__")
        if made is not None and made.home is not None:
            made.home.summary(made)  # What it leaves on `self`.
        return cls

    def _ask(self, qualified: str) -> Value | None:
        value = self._elsewhere.held(self._path, qualified, classes=True)
        return foreign(value, ()) if value is not None else None


def foreign(value: Value, ours: Container[object]) -> Value:
    """A value as it comes from another file: what it hangs on there is told there, and that file's
    switches are none of this one's. `ours`: the nodes of this file, which stay."""
    cases: list[tuple[int, Atom]] = []
    for machine in PARTS:
        joined = BOT
        for _, atom in cases_of(value, machine):
            # A tensor that a switch leaves unknown is on that device when the switch is on.
            kept = joined if joined.kind == TENSOR and atom.kind == UNKNOWN else None
            if joined.kind == UNKNOWN and atom.kind == TENSOR:
                kept = atom
            joined = kept if kept is not None else join(joined, atom)
        cases.append((machine, _without_places(joined, ours)))
    return pack(cases)


def foreign_worlds(worlds: int) -> int:
    """Worlds as they come from another file: a machine comes back if it does with some switches."""
    return sum(machine for machine in PARTS if worlds & machine)


def _without_places(atom: Atom, ours: Container[object]) -> Atom:
    if atom is BOT or not (atom.tests or atom.node is not None or atom.symbol is not None):
        return atom
    tests = frozenset(test for test in atom.tests if test in ours)
    node = atom.node
    if isinstance(node, tuple):
        node = tuple(item for item in node if item in ours) or None
    elif node not in ours:
        node = None
    return atom.but(tests=tests, node=node, symbol=None)
