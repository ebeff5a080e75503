"""What a file takes from the other files of its project: values of their names, classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.semantics.terms.facts_known import NOBODY
from mpslint.semantics.terms.sought import CLASSES, EMPTY, MOVING
from mpslint.semantics.worlds.foreign import foreign
from mpslint.semantics.worlds.machines import ALL, NVIDIA
from mpslint.semantics.worlds.values import CLASS, Atom, Value

if TYPE_CHECKING:
    import ast

    from mpslint.facts.machines import Answer
    from mpslint.semantics.elsewhere.elsewhere import Elsewhere
    from mpslint.semantics.syntax.fitting import Signature
    from mpslint.semantics.worlds.handed import Handed
    from mpslint.semantics.worlds.interpreter import Interpreter
    from mpslint.semantics.worlds.said import Said
    from mpslint.semantics.worlds.state import Class

_OBJECTS = ("assign", "annotate", "with", "unpack")
"""How a module comes by an object that it keeps under a name."""


class Imports:
    """Implements `core.Project` for one file. Other files are read and run in the abstract, never
    imported; one file deep, and through re-exports."""

    def __init__(self, elsewhere: Elsewhere, path: str) -> None:
        self._elsewhere = elsewhere
        self.path = self._path = path
        self._known: dict[str, Value | None] = {}

    def value(self, qualified: str) -> Value | None:
        if qualified not in self._known:
            self._known[qualified] = self._ask(qualified)
        return self._known[qualified]

    def moving(self, qualified: str) -> Value | None:
        value = self._elsewhere.held(self._path, qualified, MOVING)
        return foreign(value, ()) if value is not None else None

    def may_hold(self, qualified: str) -> bool:
        return self._elsewhere.may_hold(self._path, qualified)

    def may_end(self, qualified: str) -> bool:
        return self._elsewhere.may_end(self._path, qualified)

    def joins_group(self, qualified: str, said: Said) -> bool:
        return self._elsewhere.joins_group(self._path, qualified, said)

    def keeps_object(self, qualified: str) -> bool:
        return self._is_bound(qualified, _OBJECTS)

    def keeps(self, qualified: str) -> bool:
        owner = qualified.rpartition(".")[0]
        return self._is_bound(qualified, _OBJECTS) or self._is_bound(owner, (*_OBJECTS, "class"))

    def _is_bound(self, qualified: str, kinds: tuple[str, ...]) -> bool:
        found = self._elsewhere.definition(self._path, qualified) if "." in qualified else None
        return found is not None and found.bindings[0].kind in kinds

    def signature(self, qualified: str, *, certain: bool = False) -> Signature | None:
        return self._elsewhere.signature(self._path, qualified, certain=certain)

    def imports_on(self, module: str) -> int:
        return self._elsewhere.imports_on(self._path, module)

    def entered(self, name: str) -> int:
        facts = self._elsewhere.entered(self._path, name)
        if NOBODY in facts:
            return 0
        return NVIDIA if "cuda" in facts else ALL

    def takes(self, name: str) -> bool:
        return self._elsewhere.takes(self._path, name)

    def shared_by_tests(self) -> list[Interpreter]:
        return self._elsewhere.shared_by_tests(self._path)

    def makes_none(self, qualified: str) -> bool:
        return self._elsewhere.makes_none(self._path, qualified)

    def given(self, name: str, kept: frozenset[str], is_asked: bool) -> list[Handed] | None:
        return self._elsewhere.given(self._path, name, kept, is_asked)

    def calls(self, name: str) -> tuple[ast.Call | None, ...]:
        return self._elsewhere.calls(self._path, name)

    def answer_kept(self, attribute: str) -> Answer | None:
        return self._elsewhere.answer_kept(self._path, attribute)

    def base(self, qualified: str, *, empty: bool = False) -> Class | None:
        value = self._elsewhere.held(self._path, qualified, EMPTY if empty else CLASSES)
        if value.__class__ is not Atom or value.kind != CLASS:
            return None
        cls: Class = value.v
        made = cls.methods.get("__init__")
        if made is not None and made.home is not None:
            made.home.summary(made)  # What it leaves on `self`.
        return cls

    def _ask(self, qualified: str) -> Value | None:
        value = self._elsewhere.held(self._path, qualified, CLASSES)
        return foreign(value, ()) if value is not None else None
