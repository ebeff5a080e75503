"""What a module that is run because it is imported knows of its project: where its own imports can
be had, and nothing else of other files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from mpslint.semantics.worlds.machines import ALL

if TYPE_CHECKING:
    from mpslint.facts.machines import Answer
    from mpslint.semantics.worlds.handed import Handed
    from mpslint.semantics.worlds.interpreter import Interpreter
    from mpslint.semantics.worlds.said import Said
    from mpslint.semantics.worlds.state import Class
    from mpslint.semantics.worlds.values import Value


class ImportsBehind:
    """Implements `worlds.core.Project`: what the imports of one module need."""

    def __init__(
        self,
        worlds_of: Callable[[str, str, Mapping[str, int] | None], int],
        path: str,
        known: Mapping[str, int] | None = None,
    ) -> None:
        """`worlds_of`: the worlds in which the module at a path can import another by its name;
        `known`: where modules can be imported, where that is known; else it is asked."""
        self._worlds_of = worlds_of
        self.path = self._path = path
        self._known = known

    def of(self, path: str) -> ImportsBehind:
        """The same for another module."""
        return ImportsBehind(self._worlds_of, path, self._known)

    def value(self, qualified: str) -> Value | None:
        return None

    def may_hold(self, qualified: str) -> bool:
        return False

    def may_start_groups(self, qualified: str) -> bool:
        return False

    def joins_group(self, qualified: str, said: Said) -> bool:
        return False

    def keeps_object(self, qualified: str) -> bool:
        return False

    def keeps(self, qualified: str) -> bool:
        return False

    def base(self, qualified: str) -> Class | None:
        return None

    def imports_on(self, module: str) -> int:
        return self._worlds_of(self._path, module, self._known)

    def entered(self, name: str) -> int:
        return ALL

    def shared_by_tests(self) -> list[Interpreter]:
        return []

    def makes_none(self, qualified: str) -> bool:
        return False

    def answer_kept(self, attribute: str) -> Answer | None:
        return None

    def given(self, name: str, kept: frozenset[str], is_asked: bool) -> list[Handed] | None:
        return None
