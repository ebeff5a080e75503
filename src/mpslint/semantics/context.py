"""What a rule is given: one file, its meaning, the settings, and the way to report."""

from __future__ import annotations

import ast
import os
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

from mpslint.model import Confidence, Finding, Fix, Label, Level, Unfixed, Unused
from mpslint.semantics.devices.chains import Chains
from mpslint.semantics.devices.devices import Devices
from mpslint.semantics.devices.host_notebooks import is_on_host
from mpslint.semantics.elsewhere.imported import Imported
from mpslint.semantics.elsewhere.reservations import holds_back, may_hold_back
from mpslint.semantics.guards.guards import Guards
from mpslint.semantics.loops.batches import Batches
from mpslint.semantics.loops.forward_passes import ForwardPasses
from mpslint.semantics.loops.loops import Loops
from mpslint.semantics.names.flow import Flow
from mpslint.semantics.names.names import Names, canonical
from mpslint.semantics.syntax.index import Index, index_of
from mpslint.semantics.timing.clock_reads import clock_reads
from mpslint.semantics.timing.device_work import DeviceWork
from mpslint.semantics.timing.handed_work import HandedWork
from mpslint.semantics.timing.timing import Timing
from mpslint.semantics.values.array_sources import ArraySources
from mpslint.semantics.values.asked_numbers import AskedNumbers
from mpslint.semantics.values.placement import Placement
from mpslint.semantics.values.values import Values
from mpslint.semantics.worlds.file import Worlds
from mpslint.semantics.worlds.project import Imports
from mpslint.semantics.worlds.refused import is_behind_refusal, refusal_before
from mpslint.semantics.worlds.twins import CASTING

if TYPE_CHECKING:
    from mpslint.model import Severity
    from mpslint.rules.registry import Rule
    from mpslint.semantics.elsewhere.elsewhere import Definition, Elsewhere
    from mpslint.semantics.values.dtypes import DTypes
    from mpslint.semantics.worlds.events import Event
    from mpslint.semantics.worlds.state import Place
    from mpslint.settings.settings import Settings
    from mpslint.sources.source import SourceFile

_REFUSALS = "MPS118"
"""The rule that tells of refusals to run without CUDA."""
_OF_DEVICES = (b"device",)
_NO_NAMES: frozenset[str] = frozenset()


def _spelled(place: Place) -> str:
    """A place in another file, for messages: the same from wherever the files are named."""
    return f"{os.path.basename(place.path)}, line {place.line}"


class Context:
    """One file as the rules see it; every part is made when first asked for."""

    def __init__(
        self,
        source: SourceFile,
        tree: ast.Module,
        settings: Settings,
        elsewhere: Elsewhere | None = None,
        index: Index | None = None,
    ) -> None:
        self.source = source
        self.tree = tree
        self.settings = settings
        self.elsewhere = elsewhere
        """The other files of the project, where somebody can read them."""
        self.all_count = True
        """Whether findings count that are less sure than the settings ask for: comments may silence
        them, and somebody asks whether these silence anything."""
        self.all_told = False
        """Whether rules are asked that nobody has selected, as they would be beside all others."""
        self.unused: Sequence[Unused] = ()
        """The comments that silence nothing, where somebody has looked."""
        self.index = index_of(tree) if index is None else index
        self.memo: dict[str, object] = {}
        """What others have worked out for the whole file, by keys of their own."""

    @cached_property
    def imported(self) -> Imported | None:
        if self.elsewhere is None:
            return None
        return Imported(self.elsewhere, self.source.path)

    @cached_property
    def names(self) -> Names:
        if self.elsewhere is None:
            return Names(self.index)
        return Names(self.index, partial(self.elsewhere.offers, self.source.path))

    @cached_property
    def flow(self) -> Flow:
        return Flow(self.index, self.names)

    @cached_property
    def guards(self) -> Guards:
        return Guards(self.index, self.names, self.flow, self.imported)

    @cached_property
    def values(self) -> Values:
        return Values(self.index, self.names, self.flow, self.guards, self.imported)

    @cached_property
    def devices(self) -> Devices:
        # Not a method of its own: in a circle all of it would outlive the check of its file.
        find = partial(_defined, self.elsewhere, self.source.path)
        return Devices(self.index, self.names, self.flow, self.values, find)

    @cached_property
    def dtypes(self) -> DTypes:
        from mpslint.semantics.values.dtypes import DTypes

        return DTypes(self.names, self.flow, self.values, self.sources)

    @cached_property
    def sources(self) -> ArraySources:
        from mpslint.semantics.values.array_sources import ArraySources

        return ArraySources(self.index, self.names, self.flow, self.guards)

    @cached_property
    def loops(self) -> Loops:
        return Loops(self.index, self.names, self.values, self.flow)

    @cached_property
    def worlds(self) -> Worlds:
        """What the file does on each machine."""
        project = None
        if self.elsewhere is not None:
            project = Imports(self.elsewhere, self.source.path)
        return Worlds(self.index, self.tree, self.source.data, project)

    @cached_property
    def chains(self) -> Chains:
        return Chains(self.index, self.names, self.guards, self.values, self.devices)

    @cached_property
    def placement(self) -> Placement:
        # Not by `self`: what holds a context that holds it is never given back.
        places_nothing = partial(_places_nothing, weakref.ref(self))
        return Placement(
            self.index, self.names, self.flow, self.guards, self.values, places_nothing
        )

    @cached_property
    def work(self) -> DeviceWork:
        return DeviceWork(
            self.index,
            self.names,
            self.values,
            self.loops,
            self.placement,
            AskedNumbers(self.names, self.values, self.flow),
            HandedWork(self.index, self.names),
        )

    @cached_property
    def timing(self) -> Timing:
        return Timing(
            self.index,
            self.flow,
            self.work,
            self.loops,
            HandedWork(self.index, self.names),
            clock_reads(self),
        )

    @cached_property
    def passes(self) -> ForwardPasses:
        return ForwardPasses(
            self.index,
            self.names,
            self.flow,
            self.values,
            self.loops,
            self.imported,
            # Not of `self`: what holds a context that holds it is never given back.
            partial(is_on_host, self.source, self.index, self.placement),
        )

    @cached_property
    def batches(self) -> Batches:
        return Batches(self.index, self.loops)

    # shorthands

    def resolve(self, node: ast.AST) -> str | None:
        """The qualified name of what `node` refers to (`torch.cuda.synchronize`)."""
        return self.names.resolve(node)

    def calls_of(self, *qualified: str) -> Iterator[ast.Call]:
        """Calls of these functions under whatever name the file gives them, in source order."""
        wanted = set(qualified)
        lasts = {name.rsplit(".", 1)[-1] for name in qualified}
        for name in qualified:
            lasts |= self.aliases.get(name, _NO_NAMES)
        found = [
            call
            for last in lasts
            for call in self.index.calls.get(last, ())
            if self.names.resolve(call.func) in wanted
        ]
        yield from sorted(found, key=lambda call: (call.lineno, call.col_offset))

    @cached_property
    def aliases(self) -> dict[str, set[str]]:
        """Other local names by qualified name: `from time import time as now`, `sync = ...`."""
        found: dict[str, set[str]] = {}
        for name, binding in self.names.every_binding():
            qualified = None
            if binding.kind == "import":
                qualified = binding.qualified
            elif binding.kind == "assign" and isinstance(binding.value, ast.Attribute | ast.Name):
                qualified = self.names.resolve(binding.value)
            if qualified is not None:
                found.setdefault(canonical(qualified), set()).add(name)
        return found

    def definition_elsewhere(
        self, qualified: str, words: tuple[bytes, ...] = ()
    ) -> Definition | None:
        """What another file of the project says of an imported name; with `words`, only where the
        text of what defines it has one of them."""
        if self.elsewhere is None or qualified.startswith("torch."):
            return None
        return self.elsewhere.definition(self.source.path, qualified, words)

    @cached_property
    def held_back(self) -> str:
        """Why this file, or its project as far as it is known, holds MPS back; empty: neither."""
        if may_hold_back(self.source.text.encode(errors="replace")) and (why := holds_back(self)):
            return why
        return self.elsewhere.holds_back(self.source.path) if self.elsewhere is not None else ""

    # what a refusal stands before

    def tells(self, code: str) -> bool:
        """Whether a rule tells what it finds here."""
        return self.all_told or code in self.settings.enabled(self.source.path)

    @property
    def effects_alone(self) -> Iterator[Event]:
        """What CUDA's device is told and MPS's is not. Seeds and releases that are so only because
        a Mac was refused before are told by that refusal, and here, in its place, where nobody asks
        for refusals; mixed precision is here each time: a port has to write it anew."""
        for event in self.worlds.without_twin:
            if not is_behind_refusal(event) or (
                (event.kind in CASTING or not self.tells(_REFUSALS))
                and refusal_before(self.worlds, event) is not None
            ):
                yield event

    def ending(self, refusal: ast.expr) -> str:
        """What ends a run without CUDA, for messages: its line, and where that only calls what
        refuses, the place of the refusal."""
        place = self.worlds.run.refusing.get(refusal)
        return self.line(refusal) + (f" ({_spelled(place)})" if place is not None else "")

    def refused(self, event: Event) -> tuple[Label, ...]:
        """The refusal that an event stands behind."""
        refusal = refusal_before(self.worlds, event)
        if refusal is None:
            return ()
        place = self.worlds.run.refusing.get(refusal)
        away = f", in {_spelled(place)}" if place is not None else ""
        return (self.label(refusal, f"refuses to run without CUDA{away}"),)

    # reporting

    def finding(
        self,
        rule: Rule,
        node: ast.AST,
        message: str,
        *,
        severity: Severity | None = None,
        confidence: Confidence = Confidence.CERTAIN,
        labels: tuple[Label, ...] = (),
        provided: str = "",
        advice: str = "",
        by_request: bool = False,
        applicability: Level = None,
        fix: Callable[[], Fix | None] | None = None,
        unfixed: Unfixed = None,
    ) -> Finding:
        """A finding at `node`; `applicability` and `fix` go together. `unfixed` says why there is
        none, where the rule knows more of it than that it has one for others."""
        start, end = self.source.span(node)
        return self.finding_at(
            rule,
            start,
            end,
            message,
            severity=severity,
            confidence=confidence,
            labels=labels,
            provided=provided,
            advice=advice,
            by_request=by_request,
            applicability=applicability,
            fix=fix,
            unfixed=unfixed,
        )

    def finding_at(
        self,
        rule: Rule,
        start: int,
        end: int,
        message: str,
        *,
        severity: Severity | None = None,
        confidence: Confidence = Confidence.CERTAIN,
        labels: tuple[Label, ...] = (),
        provided: str = "",
        advice: str = "",
        by_request: bool = False,
        applicability: Level = None,
        fix: Callable[[], Fix | None] | None = None,
        unfixed: Unfixed = None,
    ) -> Finding:
        row, column = self.source.position(start)
        end_row, end_column = self.source.position(end)
        return Finding(
            rule.code,
            rule.name,
            message,
            rule.severity if severity is None else severity,
            row,
            column,
            end_row,
            end_column,
            confidence=confidence,
            labels=labels,
            provided=provided,
            advice=advice,
            by_request=by_request,
            applicability=applicability,
            fix=fix,
            unfixed=(unfixed, rule.unfixed),
        )

    def label(self, node: ast.AST, message: str) -> Label:
        """A related place: the position of `node` with a few words."""
        row, column = self.source.position(self.source.span(node)[0])
        return Label(row, column, message)

    def decided(self, event: Event, message: str = "decided here") -> tuple[Label, ...]:
        """Where it is decided that a Mac does not come to an event: the condition as it is written,
        which names the switch; else the question to the machine."""
        if event.gate is not None:
            return (self.label(event.gate, message),)
        tests = sorted(event.tests, key=lambda test: (test.lineno, test.col_offset))
        return tuple(self.label(test, message) for test in tests[:1])

    def line(self, node: ast.AST) -> str:
        """`line 40` (in a notebook `line 3 of cell 12`), for messages."""
        from mpslint.sources.opening import spoken_line

        return spoken_line(self.source, self.source.span(node)[0])

    def name_token(self, node: ast.Attribute | ast.Name) -> tuple[int, int]:
        """Offsets of the last name of `a.b.name` (or of a plain name)."""
        start, end = self.source.span(node)
        if isinstance(node, ast.Attribute):
            start = end - len(node.attr)
        return start, end


def _places_nothing(held: weakref.ref[Context], qualified: str) -> bool:
    """Whether a name is that of a class of the project whose file moves or makes nothing on a
    device."""
    context = held()
    found = context.definition_elsewhere(qualified) if context is not None else None
    if found is None or len(found.bindings) != 1 or found.context is context:
        return False
    is_class = isinstance(found.bindings[0].node, ast.ClassDef)
    return is_class and not found.context.placement.file_uses_devices


def _defined(elsewhere: Elsewhere | None, path: str, qualified: str) -> ast.AST | None:
    """What an imported name is in a file of the project that speaks of devices."""
    if elsewhere is None or qualified.startswith("torch."):
        return None
    found = elsewhere.definition(path, qualified, _OF_DEVICES)
    return found.bindings[0].node if found is not None and len(found.bindings) == 1 else None
