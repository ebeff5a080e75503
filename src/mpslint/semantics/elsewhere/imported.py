"""What a file asks of the names that it imports from its project, and of its classes' bases."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, TypeGuard

from mpslint.semantics.terms.facts_known import NOBODY, NONE, Facts

if TYPE_CHECKING:
    from mpslint.semantics.elsewhere.elsewhere import Elsewhere
    from mpslint.semantics.names.names import Names
    from mpslint.semantics.steps.given_in_steps import Arguments
    from mpslint.semantics.syntax.index import Index
    from mpslint.semantics.terms.value import Value

_BASES = 4
"""So many classes are looked at, one the base of the other."""
_CUDA, _NO_CUDA = frozenset({"cuda"}), frozenset({"no-cuda"})


class Imported:
    """What guards ask of names that a file imports."""

    __slots__ = ("_elsewhere", "_path")

    def __init__(self, elsewhere: Elsewhere, path: str) -> None:
        self._elsewhere = elsewhere
        self._path = path

    def settled(self, qualified: str | None) -> Facts:
        if not _may_be_ours(qualified):
            return NONE
        return self._elsewhere.settled(self._path, qualified)

    def implied(self, qualified: str | None, outcome: bool, *, called: bool) -> Facts:
        if not _may_be_ours(qualified):
            return NONE
        return self._elsewhere.implied(self._path, qualified, outcome, called=called)

    def inherited(self, base: str | None, attribute: str, outcome: bool) -> Facts:
        if not _may_be_ours(base):
            return NONE
        return self._elsewhere.inherited(self._path, base, attribute, outcome)

    def kept(self, attribute: str, outcome: bool) -> Facts:
        """What follows from an attribute under which the project keeps whether CUDA is there."""
        answer = self._elsewhere.answer_kept(self._path, attribute)
        if answer is None:
            return NONE
        return _CUDA if outcome else _NO_CUDA if answer[0] else NONE

    def entered(self, name: str) -> Facts:
        return self._elsewhere.entered(self._path, name) - {NOBODY}

    def runs_in_forward(self, name: str) -> bool:
        return self._elsewhere.runs_in_forward(self._path, name)

    def names_devices(self) -> bool:
        """Whether another file of the project speaks of a GPU."""
        return self._elsewhere.names_devices(self._path)

    def uses_beside(self, name: str) -> bool:
        """Whether files beside this one use a function of the module."""
        return NOBODY not in self._elsewhere.entered(self._path, name)

    def given_in_steps(self, name: str) -> Arguments:
        return self._elsewhere.given_in_steps(self._path, name)

    def device(self, qualified: str | None, *, called: bool) -> Value | None:
        if not _may_be_ours(qualified):
            return None
        return self._elsewhere.device(self._path, qualified, called=called)

    def inherited_device(self, base: str | None, attribute: str) -> Value | None:
        if not _may_be_ours(base):
            return None
        return self._elsewhere.inherited_device(self._path, base, attribute)


def _may_be_ours(qualified: str | None) -> TypeGuard[str]:
    return qualified is not None and "." in qualified and not qualified.startswith("torch.")


def imported_base(index: Index, names: Names, node: ast.AST) -> str | None:
    """The first base, in another file, of the class around `node`: its own, or that of a base
    which the file defines."""
    owner = index.enclosing(node, ast.ClassDef)
    for _ in range(_BASES):
        if not isinstance(owner, ast.ClassDef) or not owner.bases:
            return None
        base = owner.bases[0]
        bindings = names.bindings(base.id, base) if isinstance(base, ast.Name) else []
        if len(bindings) == 1 and isinstance(bindings[0].node, ast.ClassDef):
            owner = bindings[0].node
            continue
        return names.resolve(base)
    return None
