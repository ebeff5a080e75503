"""What the files that use a file are told of the rest of the project, and what that rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from mpslint.project.layout.out_of_reach import Distant
from mpslint.semantics.elsewhere.elsewhere import Elsewhere
from mpslint.semantics.terms.sought import PLAIN, Sought

if TYPE_CHECKING:
    from collections.abc import Callable

    from mpslint.facts.machines import Answer
    from mpslint.semantics.syntax.fitting import Signature
    from mpslint.semantics.terms.facts_known import Facts
    from mpslint.semantics.worlds.interpreter import Interpreter
    from mpslint.semantics.worlds.said import Said
    from mpslint.semantics.worlds.values import Value as WorldValue

_Answer = TypeVar("_Answer")


class Overheard(Elsewhere, Protocol):
    """The rest of a project, which can say what an answer rests on."""

    def overheard(self, ask: Callable[[], _Answer]) -> tuple[_Answer, int]: ...

    def files_of(self, files: int) -> list[str]: ...


class Near(Distant):
    """What those are told of their neighbours who use what a file defines: also what functions of
    these have made sure of, and what their names hold. Who is asked in turn hears of devices
    alone."""

    def __init__(self, neighbours: Overheard) -> None:
        super().__init__(neighbours)
        self._all = neighbours
        self._rests: dict[str, int] = {}

    def rests_on(self, path: str) -> frozenset[str]:
        """The files that what the one at `path` was told rests on. Who asks it may find it told."""
        return frozenset(self._all.files_of(self._rests.get(path, 0)))

    def _told(self, path: str, ask: Callable[[], _Answer]) -> _Answer:
        answer, files = self._all.overheard(ask)
        self._rests[path] = self._rests.get(path, 0) | files
        return answer

    def imports_on(self, path: str, module: str) -> int:
        return self._told(path, lambda: self._all.imports_on(path, module))

    def held(self, path: str, qualified: str, sought: Sought = PLAIN) -> WorldValue | None:
        return self._told(path, lambda: self._all.held(path, qualified, sought))

    def may_hold(self, path: str, qualified: str) -> bool:
        return self._told(path, lambda: self._all.may_hold(path, qualified))

    def may_end(self, path: str, qualified: str) -> bool:
        return self._told(path, lambda: self._all.may_end(path, qualified))

    def joins_group(self, path: str, qualified: str, said: Said) -> bool:
        return self._told(path, lambda: self._all.joins_group(path, qualified, said))

    def answer_kept(self, path: str, attribute: str) -> Answer | None:
        return self._told(path, lambda: self._all.answer_kept(path, attribute))

    def shared_by_tests(self, path: str) -> list[Interpreter]:
        return self._told(path, lambda: self._all.shared_by_tests(path))

    def signature(self, path: str, qualified: str, *, certain: bool) -> Signature | None:
        return self._told(path, lambda: self._all.signature(path, qualified, certain=certain))

    def makes_none(self, path: str, qualified: str) -> bool:
        return self._told(path, lambda: self._all.makes_none(path, qualified))

    def settled(self, path: str, qualified: str) -> Facts:
        return self._told(path, lambda: self._all.settled(path, qualified))
