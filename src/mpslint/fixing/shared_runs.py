"""Runs of the texts of a file that two ask: its rules, and who judges what fixes make of it. To run
a file is most of what its analysis takes.

Who asks takes away the worlds in which nobody calls a function, of the kinds that he asks for. The
second one gets what was told as it was told, and asks from the beginning.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING

from mpslint.porting.judging import Said
from mpslint.semantics.context import Context
from mpslint.semantics.worlds.file import Worlds
from mpslint.semantics.worlds.project import Imports

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.checking.linter import Sharing
    from mpslint.porting.judging import Before
    from mpslint.semantics.elsewhere.elsewhere import Elsewhere
    from mpslint.semantics.worlds.events import Event
    from mpslint.semantics.worlds.interpreter import Interpreter
    from mpslint.settings.settings import Settings
    from mpslint.sources.source import SourceFile


class SharedRuns:
    """Those of the texts of one file."""

    def __init__(self, source: SourceFile, settings: Settings) -> None:
        self._source = source
        self._settings = settings
        self._as_it_was: _AsItWas | None = None
        self._judged: _Judged | None = None

    def asked_for(
        self, source: SourceFile, around: Elsewhere | None, *, is_before: bool
    ) -> Sharing | None:
        """Who shares the run with the rules that are about to look at a text; `is_before`: nobody
        knows yet what is said of the text as it was."""
        known, self._judged = self._judged, None
        if known is not None:
            if known.source is source and known.around is around:
                return known
            known.release()
        if is_before and source is self._source:
            self._as_it_was = _AsItWas(self._settings, around)
            return self._as_it_was
        return None

    def tell(self, before: Before, around: Elsewhere | None) -> None:
        """Tells what was heard of the text as it was, among these files."""
        heard = self._as_it_was
        if heard is not None and heard.said is not None and heard.around is around:
            before.is_heard(self._settings, heard.said)
        self._as_it_was = None

    def done(self, context: Context, *, is_kept: bool) -> None:
        """Lets go of the run of a text that was judged, or keeps it for the rules, which look at
        it next."""
        self.release()
        if is_kept:
            self._judged = _Judged(context)
        else:
            context.worlds.release()

    def release(self) -> None:
        if self._judged is not None:
            self._judged.release()
            self._judged = None


class _AsItWas:
    """Hears what the analysis says of a text, for who compares others with it."""

    def __init__(self, settings: Settings, around: Elsewhere | None) -> None:
        self._settings = settings
        self.around = around
        self.said: Said | None = None

    def begins(self, context: Context) -> None:
        """It asks once the rules have."""

    def ends(self, context: Context) -> None:
        if not _is_run(context.worlds):
            return  # Nobody may ever ask for it.
        parts = context.source, context.tree, self._settings, context.elsewhere, context.index
        other = Context(*parts)
        with suppress(RecursionError), _asked_again(context, other):
            self.said = Said.of(other)


class _Judged:
    """What a text does among files as somebody knows them."""

    def __init__(self, context: Context) -> None:
        self.source = context.source
        self.around = context.elsewhere
        self._worlds: Worlds | None = context.worlds

    def begins(self, context: Context) -> None:
        worlds = self._worlds
        if worlds is None or not _is_run(worlds) or worlds.run.tree is not context.tree:
            self.release()
            return
        context.worlds = _Again(context, worlds)
        self._worlds = None

    def ends(self, context: Context) -> None:
        """The rules were the last to ask."""

    def release(self) -> None:
        if self._worlds is not None:
            self._worlds.release()
            self._worlds = None


class _Again(Worlds):
    """Those of a file that was run before."""

    def __init__(self, context: Context, before: Worlds) -> None:
        around = context.elsewhere
        project = Imports(around, context.source.path) if around is not None else None
        super().__init__(context.index, context.tree, context.source.data, project)
        self._before = before

    @cached_property
    def run(self) -> Interpreter:
        self.is_asked = True
        self.met = self._before.met
        return _as_told(self._before.run, self.met)

    def release(self) -> None:
        self._before.release()
        super().release()


def _is_run(worlds: Worlds) -> bool:
    return "run" in vars(worlds)


@contextmanager
def _asked_again(context: Context, other: Context) -> Iterator[None]:
    """Lets another context of the same tree ask the run of one that is not done with it."""
    run = context.worlds.run
    told = [(event, event.worlds) for event in run.log]
    other.worlds = _Again(other, context.worlds)
    try:
        yield
    finally:
        _as_told(run, told)


def _as_told(run: Interpreter, told: list[tuple[Event, int]]) -> Interpreter:
    run.log[:] = [event for event, _ in told]
    for event, worlds in told:
        event.worlds = worlds
    return run
