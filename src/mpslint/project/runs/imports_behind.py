"""What a module that is run because it is imported knows of its project: where its own imports can
be had, what may need operators of CUDA's alone, and nothing else of other files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from mpslint.semantics.worlds.machines import ALL

if TYPE_CHECKING:
    import ast

    from mpslint.facts.machines import Answer
    from mpslint.semantics.syntax.fitting import Signature
    from mpslint.semantics.worlds.handed import Handed
    from mpslint.semantics.worlds.interpreter import Interpreter
    from mpslint.semantics.worlds.said import Said
    from mpslint.semantics.worlds.state import Class
    from mpslint.semantics.worlds.values import Value


class Behind(Protocol):
    """Who knows the modules of a project that are run because they are imported."""

    def imported_in_turn(
        self, path: str, module: str, known: Mapping[str, int] | None = None
    ) -> int:
        """The worlds in which the module at a path can import another by its name."""

    def may_need_operators(self, path: str, qualified: str) -> bool:
        """Whether what the module at a path takes from another may need operators of CUDA's."""

    def held_behind(self, path: str, qualified: str) -> Value | None:
        """What such a name holds."""


class ImportsBehind:
    """Implements `worlds.core.Project`: what the imports of one module need."""

    def __init__(
        self,
        behind: Behind,
        path: str,
        known: Mapping[str, int] | None = None,
    ) -> None:
        """`known`: where modules can be imported, where that is known; else it is asked."""
        self._behind = behind
        self.path = self._path = path
        self._known = known

    def of(self, path: str) -> ImportsBehind:
        """The same for another module."""
        return ImportsBehind(self._behind, path, self._known)

    def value(self, qualified: str) -> Value | None:
        return self._behind.held_behind(self._path, qualified)

    def moving(self, qualified: str) -> Value | None:
        return None

    def may_hold(self, qualified: str) -> bool:
        return False

    def may_end(self, qualified: str) -> bool:
        return self._behind.may_need_operators(self._path, qualified)

    def joins_group(self, qualified: str, said: Said) -> bool:
        return False

    def keeps_object(self, qualified: str) -> bool:
        return False

    def keeps(self, qualified: str) -> bool:
        return False

    def base(self, qualified: str, *, empty: bool = False) -> Class | None:
        return None

    def signature(self, qualified: str, *, certain: bool = False) -> Signature | None:
        return None

    def imports_on(self, module: str) -> int:
        return self._behind.imported_in_turn(self._path, module, self._known)

    def entered(self, name: str) -> int:
        return ALL

    def takes(self, name: str) -> bool:
        return False

    def shared_by_tests(self) -> list[Interpreter]:
        return []

    def makes_none(self, qualified: str) -> bool:
        return False

    def answer_kept(self, attribute: str) -> Answer | None:
        return None

    def given(self, name: str, kept: frozenset[str], is_asked: bool) -> list[Handed] | None:
        return None

    def calls(self, name: str) -> tuple[ast.Call | None, ...]:
        return ()
