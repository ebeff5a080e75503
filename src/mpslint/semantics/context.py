"""What a rule is given: one file, its meaning, the settings, and the way to report."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Confidence, Finding, Fix, Label
from mpslint.semantics.batches import Batches
from mpslint.semantics.chains import Chains
from mpslint.semantics.device_work import DeviceWork
from mpslint.semantics.devices import Devices
from mpslint.semantics.dtypes import DTypes
from mpslint.semantics.elsewhere import exported_device
from mpslint.semantics.flow import Flow
from mpslint.semantics.guards import Guards
from mpslint.semantics.index import Index
from mpslint.semantics.loops import Loops
from mpslint.semantics.names import Names, canonical
from mpslint.semantics.placement import Placement
from mpslint.semantics.timing import CLOCKS, Timing
from mpslint.semantics.values import Values

if TYPE_CHECKING:
    from mpslint.model import Severity
    from mpslint.rules.registry import Rule
    from mpslint.semantics.elsewhere import Definition, Elsewhere
    from mpslint.semantics.value import Value
    from mpslint.settings import Settings
    from mpslint.source import SourceFile

_NO_NAMES: frozenset[str] = frozenset()


class Context:
    """One file as the rules see it; every part is made when first asked for."""

    def __init__(
        self,
        source: SourceFile,
        tree: ast.Module,
        settings: Settings,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        self.source = source
        self.tree = tree
        self.settings = settings
        self.elsewhere = elsewhere
        """The other files of the project, where somebody asked for them (`mpslint fix`)."""
        self.index = Index(tree)
        self._names: Names | None = None
        self._flow: Flow | None = None
        self._guards: Guards | None = None
        self._values: Values | None = None
        self._devices: Devices | None = None
        self._dtypes: DTypes | None = None
        self._loops: Loops | None = None
        self._placement: Placement | None = None
        self._work: DeviceWork | None = None
        self._timing: Timing | None = None
        self._batches: Batches | None = None
        self._local_names: dict[str, set[str]] | None = None
        self._chains: Chains | None = None
        self.memo: dict[str, object] = {}
        """What others have worked out for the whole file, by keys of their own."""

    @property
    def names(self) -> Names:
        if self._names is None:
            self._names = Names(self.index)
        return self._names

    @property
    def flow(self) -> Flow:
        if self._flow is None:
            self._flow = Flow(self.index, self.names)
        return self._flow

    @property
    def guards(self) -> Guards:
        if self._guards is None:
            self._guards = Guards(self.index, self.names, self.flow)
        return self._guards

    @property
    def values(self) -> Values:
        if self._values is None:
            told = self.device_elsewhere if self.elsewhere is not None else None
            self._values = Values(self.index, self.names, self.flow, self.guards, told)
        return self._values

    @property
    def devices(self) -> Devices:
        if self._devices is None:
            self._devices = Devices(self.index, self.names, self.flow, self.values)
        return self._devices

    @property
    def dtypes(self) -> DTypes:
        if self._dtypes is None:
            self._dtypes = DTypes(self.names, self.flow, self.values)
        return self._dtypes

    @property
    def loops(self) -> Loops:
        if self._loops is None:
            self._loops = Loops(self.index, self.values)
        return self._loops

    @property
    def chains(self) -> Chains:
        if self._chains is None:
            self._chains = Chains(self.index, self.names, self.guards, self.values, self.devices)
        return self._chains

    @property
    def placement(self) -> Placement:
        if self._placement is None:
            self._placement = Placement(self.index, self.flow, self.guards, self.values)
        return self._placement

    @property
    def work(self) -> DeviceWork:
        if self._work is None:
            self._work = DeviceWork(self.names, self.values, self.loops, self.placement)
        return self._work

    @property
    def timing(self) -> Timing:
        if self._timing is None:
            reads = list(self.calls_of(*CLOCKS))
            self._timing = Timing(self.index, self.flow, self.work, reads)
        return self._timing

    @property
    def batches(self) -> Batches:
        if self._batches is None:
            self._batches = Batches(self.index, self.loops)
        return self._batches

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

    @property
    def aliases(self) -> dict[str, set[str]]:
        """Other local names by qualified name: `from time import time as now`, `sync = ...`."""
        if self._local_names is None:
            self._local_names = {}
            for name, binding in self.names.every_binding():
                qualified = None
                if binding.kind == "import":
                    qualified = binding.qualified
                elif binding.kind == "assign" and isinstance(
                    binding.value, ast.Attribute | ast.Name
                ):
                    qualified = self.names.resolve(binding.value)
                if qualified is not None:
                    self._local_names.setdefault(canonical(qualified), set()).add(name)
        return self._local_names

    def device_elsewhere(self, qualified: str, called: bool) -> Value | None:
        """The device that an imported name holds, or returns when `called`."""
        found = self.definition_elsewhere(qualified)
        return exported_device(found, called=called) if found is not None else None

    def definition_elsewhere(self, qualified: str) -> Definition | None:
        """What another file of the project says of an imported name."""
        if self.elsewhere is None or qualified.startswith("torch."):
            return None
        return self.elsewhere.definition(self.source.path, qualified)

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
        applicability: Applicability | None = None,
        fix: Callable[[], Fix | None] | None = None,
    ) -> Finding:
        """A finding at `node`; `applicability` and `fix` go together."""
        start, end = self.source.span(node)
        return self.finding_at(
            rule,
            start,
            end,
            message,
            severity=severity,
            confidence=confidence,
            labels=labels,
            applicability=applicability,
            fix=fix,
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
        applicability: Applicability | None = None,
        fix: Callable[[], Fix | None] | None = None,
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
            applicability=applicability,
            fix=fix,
        )

    def label(self, node: ast.AST, message: str) -> Label:
        """A related place: the position of `node` with a few words."""
        row, column = self.source.position(self.source.span(node)[0])
        return Label(row, column, message)

    def line(self, node: ast.AST) -> str:
        """`line 40` (in a notebook `line 3 of cell 12`), for messages."""
        from mpslint.opening import position

        cell, row, _ = position(self.source, self.source.span(node)[0])
        return f"line {row}" if cell is None else f"line {row} of cell {cell}"

    def name_token(self, node: ast.Attribute | ast.Name) -> tuple[int, int]:
        """Offsets of the last name of `a.b.name` (or of a plain name)."""
        start, end = self.source.span(node)
        if isinstance(node, ast.Attribute):
            start = end - len(node.attr)
        return start, end
