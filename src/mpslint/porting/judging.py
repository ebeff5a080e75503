"""What speaks against a set of fixes: found by analysing the text that they make.

A safe fix may add nothing that raises on a Mac, must tell a machine with CUDA what it was told
before, and must be reached by the machine that it is for. The fixed text is analysed as any other
is, and compared with the text as it was.
"""

from __future__ import annotations

import ast
from functools import partial
from typing import TYPE_CHECKING

from mpslint.model import Severity
from mpslint.patterns.already_there import is_there
from mpslint.porting.in_the_way import weighs
from mpslint.project.runs.left_behind import STAYING, lacks_kernel, places
from mpslint.records import NamedTuple
from mpslint.semantics.context import Context
from mpslint.semantics.worlds.events import HANDED_ON
from mpslint.semantics.worlds.harm import Told, harms, misplaced, told_cuda
from mpslint.semantics.worlds.machines import MAC
from mpslint.sources.edits import first_origin, origin
from mpslint.sources.opening import spoken_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mpslint.model import Edit, Finding
    from mpslint.semantics.elsewhere.elsewhere import Elsewhere
    from mpslint.semantics.worlds.events import Kind
    from mpslint.settings.settings import Settings
    from mpslint.sources.source import SourceFile


_EFFECTS = {
    HANDED_ON: "what is moved to the GPU would change",
    "wait": "what is waited for would change",
    "release": "what memory is released would change",
    "seed": "what is seeded would change",
    "move": "what is moved to the GPU would change",
    "cast": "what autocast covers would change",
    "scale": "what is scaled would change",
}


class Text(NamedTuple):
    """A text and what the linter says of it."""

    source: SourceFile
    findings: Sequence[Finding]
    """Told or not."""
    elsewhere: Elsewhere | None
    """Who tells of the other files of the project, as they are then."""

    def context(self, settings: Settings) -> Context:
        around = self.elsewhere
        tree = self.source.parse() if around is None else around.tree(self.source)
        return Context(self.source, tree, settings, around)

    def breaking(self, trace: Trace) -> dict[tuple[str, int], Finding]:
        """What raises, by code and row of the text as it was."""
        return {
            (found.code, trace.row(_start(self.source, found))): found
            for found in self.findings
            if found.severity is Severity.BREAKS and weighs(found)
        }


class Before:
    """A text as it was, and what its analysis said: worked out once, however often what fixes make
    of it is compared with it."""

    def __init__(self, text: Text) -> None:
        self.text = text
        self.source = text.source
        self._said: dict[Settings, Said] = {}
        self._heard: dict[Settings, Said] = {}

    def said(self, settings: Settings) -> Said:
        found = self._said.get(settings)
        if found is None:
            context = self.text.context(settings)
            found = self._said[settings] = Said.of(context)
            context.worlds.release()
        return found

    def is_heard(self, settings: Settings, said: Said) -> None:
        """Notes what was said when the rules looked at the text."""
        self._heard[settings] = said

    def recalled(self, settings: Settings) -> Said:
        """The same for who does not ask which files it rests on."""
        if settings not in self._said and settings in self._heard:
            self._said[settings] = self._heard[settings]
        return self.said(settings)

    def holds_under(self, settings: Settings, other: Settings) -> None:
        """What was said holds under settings that write fixes in another way."""
        if settings in self._said:
            self._said.setdefault(other, self._said[settings])


class Said(NamedTuple):
    """What an analysis says of a text, without its tree."""

    on_cuda: Told
    placed: dict[int, int]
    """Line -> the worlds that ask for a device there that they lack."""
    raising: frozenset[tuple[Kind, int]]
    """What raises on a Mac that has its tensors on the GPU: kind and line."""

    @classmethod
    def of(cls, context: Context) -> Said:
        placed: dict[int, int] = {}
        for place in misplaced(context.worlds):
            line = context.index.statement(place.node).lineno
            placed[line] = placed.get(line, 0) | place.worlds
        raising = frozenset(
            (harm.kind, context.index.statement(harm.node).lineno)
            for harm in harms(context.worlds)
            if harm.on_mac
        )
        return cls(_told_cuda(context), placed, raising)


class Objection(NamedTuple):
    """Why some fixes are not safe."""

    reason: str
    causes: frozenset[int]
    """Offsets, in the text as it was, of what decides; empty: it is not known which fix it is."""
    row: int
    """Where the harm is, in the text as it was."""
    on_mac: bool = False
    """A Mac that has its tensors on the GPU raises there."""
    is_far: bool = False
    """It is another file that raises."""
    is_opening: bool = False
    """Only what lets tensors come to MPS is to blame."""


class Trace:
    """Where the parts of a fixed text come from."""

    def __init__(self, source: SourceFile, passes: Sequence[tuple[Edit, ...]]) -> None:
        self._source = source
        self._passes = passes

    def offset(self, offset: int) -> int:
        return first_origin(offset, self._passes)

    def row(self, offset: int) -> int:
        return self._source.position(self.offset(offset))[0]

    def line(self, offset: int) -> str:
        """The row, for messages."""
        return spoken_line(self._source, self.offset(offset))

    def is_new(self, offset: int) -> bool:
        """Whether a fix wrote what stands at `offset`."""
        for edits in reversed(self._passes):
            shift = 0
            for edit in edits:
                start = edit.start + shift
                if start <= offset < start + len(edit.text):
                    return True
                shift += len(edit.text) - (edit.end - edit.start)
            offset = origin(offset, edits)
        return False


def objections(
    before: Before,
    after: Text,
    passes: Sequence[tuple[Edit, ...]],
    settings: Settings,
    now: Context,
) -> list[Objection]:
    """What the fixed text, which `now` is what it means, does that it must not, worst first."""
    trace = Trace(before.source, passes)
    was = before.recalled(settings)
    found = [*_lost_on_cuda(was.on_cuda, now), *_misplaced(was.placed, now, trace)]
    if "mps" in settings.device_order:
        found += [
            *_raising(was.raising, now, trace),
            *_reported(before.text, after, trace),
            *_dead(now, trace),
        ]
    return found


def left_behind(
    made: Text,
    passes: Sequence[tuple[Edit, ...]],
    settings: Settings,
    before: SourceFile,
    context: Context,
) -> list[Objection]:
    """What cannot have tensors on MPS and is reached by those that fixes of a text bring there: in
    the text itself, and in the modules of the project that it leads to."""
    if "mps" not in settings.device_order:
        return []
    trace, found = Trace(before, passes), []
    for place in places(context):
        if place.why in STAYING or place.is_sent:
            start = made.source.starts[place.row - 1]
            row = trace.row(start)
            reason = f"{trace.line(start)}: {place.text} {place.why}"
            found.append(
                Objection(
                    reason,
                    frozenset(),
                    row,
                    on_mac=True,
                    # What raises today already is not made worse by what is float64 later.
                    is_far=place.is_sent,
                    is_opening=True,
                )
            )
            break
    for one in made.findings if not found else ():
        if lacks_kernel(one) and weighs(one):
            start = _start(made.source, one)
            row = trace.row(start)
            reason = f"{trace.line(start)}: {one.fact}"
            found.append(
                Objection(reason, frozenset(), row, on_mac=True, is_far=True, is_opening=True)
            )
            break
    if not found and made.elsewhere is not None:
        far = made.elsewhere.left_behind(context, alone=True)
        if far is not None:
            found.append(Objection(far, frozenset(), 0, on_mac=True, is_far=True, is_opening=True))
    return found


def _raising(known: frozenset[tuple[Kind, int]], now: Context, trace: Trace) -> Iterator[Objection]:
    for harm in harms(now.worlds):
        start = now.source.span(harm.node)[0]
        row = trace.row(start)
        line = trace.row(now.source.span(now.index.statement(harm.node))[0])
        if not harm.on_mac or (harm.kind, line) in known:
            continue
        causes = {
            trace.offset(now.source.span(test)[0]) for test in harm.tests if _stands_in(now, test)
        }
        yield Objection(
            harm.sentence(now.source, trace.line(start)), frozenset(causes), row, on_mac=True
        )


def _misplaced(known: dict[int, int], now: Context, trace: Trace) -> Iterator[Objection]:
    """What asks for a device that a machine lacks, and asked nothing of that machine before."""
    for place in misplaced(now.worlds):
        start = now.source.span(place.node)[0]
        line = trace.row(now.source.span(now.index.statement(place.node))[0])
        new = place.worlds & ~known.get(line, 0)
        if new:
            row = trace.row(start)
            causes = {trace.offset(start)} if trace.is_new(start) else set()
            causes |= {
                trace.offset(now.source.span(test)[0])
                for test in place.tests
                if _stands_in(now, test)
            }
            reason = place.sentence(now.source, trace.line(start), new)
            yield Objection(reason, frozenset(causes), row)


def _stands_in(context: Context, node: ast.AST) -> bool:
    return node in context.index.parents


def _reported(before: Text, after: Text, trace: Trace) -> Iterator[Objection]:
    """What the rules say raises in the fixed text and not in the one before."""
    known = before.breaking(Trace(before.source, ()))
    codes = {row for _, row in known}
    for (code, row), finding in after.breaking(trace).items():
        if (code, row) not in known and row not in codes:
            line = trace.line(_start(after.source, finding))
            yield Objection(f"{line}: {finding.fact}", frozenset(), row)


def _dead(now: Context, trace: Trace) -> Iterator[Objection]:
    """Devices that a fix wrote for a Mac and that no Mac comes to."""
    for node in now.index.spelled("mps"):
        start = now.source.span(node)[0]
        if trace.is_new(start) and not now.worlds.reach(node) & MAC:
            at = trace.offset(start)
            row = trace.row(start)
            yield Objection(
                f"{trace.line(start)}: no Mac comes to the new choice: something before it asks"
                " for CUDA",
                frozenset({at}),
                row,
            )


def _told_cuda(context: Context) -> Told:
    return told_cuda(context.worlds, context.index, partial(is_there, context))


def _lost_on_cuda(before: Told, now: Context) -> Iterator[Objection]:
    """What a machine with CUDA was told and is not any more, or the other way round."""
    after = _told_cuda(now)
    for owner in sorted(before.keys() & after.keys()):
        was_told, is_told = before[owner], after[owner]
        for effect in sorted({*was_told, *is_told}):
            new, old = is_told.get(effect), was_told.get(effect)
            if effect == HANDED_ON and new is not None:
                continue  # What is known of it since is no more than it was.
            if (new and old is None) or (old and new is None):
                where = f"in {owner}()" if owner else "at the top of the file"
                words = _EFFECTS.get(effect, effect)
                yield Objection(f"on CUDA {where} {words}", frozenset(), 0)


def _start(source: SourceFile, finding: Finding) -> int:
    return source.starts[finding.row - 1] + finding.column - 1
