"""Modules move in place: every `.to()` on a name moves what it names."""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING, cast

from mpslint.semantics.syntax.expressions import argument, is_dtype
from mpslint.semantics.syntax.index import Index
from mpslint.semantics.terms.value import CPU_ONLY, Value

if TYPE_CHECKING:
    from mpslint.semantics.values.values import Values


_NOWHERE: frozenset[str] = frozenset()


class _Spelling:
    """The moves of what is spelled in one way: where to, and how many of them go there."""

    __slots__ = ("calls", "counts", "targets")

    def __init__(self) -> None:
        self.calls: list[ast.Call] = []
        self.targets: dict[ast.Call, frozenset[str]] = {}
        """Of the calls whose devices are known for good."""
        self.counts: Counter[str] = Counter()


class Moves:
    """Calls that move modules, by the spelling of what they are called on."""

    def __init__(self, values: Values, index: Index) -> None:
        self._values = values
        self._index = index
        self._spellings: dict[str, _Spelling] | None = None

    def moved(self, spelled: str, value: Value) -> Value:
        """A module, with every `.to()` and `.cuda()` on the same name in this file."""
        if self._spellings is None:
            self._spellings = self._found()
        spelling = self._spellings.get(spelled)
        devices = set(value.devices or ())
        unknown = value.devices is None
        if spelling is not None:
            settled = self._settle(spelling)
            unknown = unknown or not settled
            devices |= self._targets(spelling)
        if unknown and not devices:
            return value
        moved = frozenset(devices)
        if len(moved) > 1 and value.devices == CPU_ONLY:
            # It starts on the CPU like every module; what counts is where it is used.
            moved = frozenset(devices - {"cpu"}) or moved
        return value._replace(devices=moved)

    def _found(self) -> dict[str, _Spelling]:
        found: dict[str, _Spelling] = {}
        for method in ("to", "cuda", "cpu", "to_empty"):
            for call in self._index.calls.get(method, ()):
                if isinstance(call.func, ast.Attribute):
                    found.setdefault(ast.unparse(call.func.value), _Spelling()).calls.append(call)
        return found

    def _settle(self, spelling: _Spelling) -> bool:
        """Work out where the calls go that are not known yet; whether all are known then. A call
        that is being worked out itself is left out: it would be a cycle."""
        known, busy = True, self._values.busy
        if len(spelling.targets) == len(spelling.calls):
            return True
        for call in spelling.calls:
            if call in spelling.targets:
                continue
            if call in busy:
                self._values.cuts += 1
                continue
            target = self._target(call)
            if target is None:
                known = False
                continue
            # What it depends on may have asked for this name, and settled it meanwhile.
            if call not in spelling.targets:
                spelling.targets[call] = target
                spelling.counts.update(target)
        return known

    def _targets(self, spelling: _Spelling) -> set[str]:
        """Where all calls go but for those that are being worked out."""
        counts = spelling.counts
        cycles = self._values.busy & spelling.targets.keys()
        if cycles:
            self._values.cuts += 1
            counts = counts.copy()
            for call in cycles:
                counts.subtract(spelling.targets[cast("ast.Call", call)])
        return {device for device, count in counts.items() if count > 0}

    def _target(self, call: ast.Call) -> frozenset[str] | None:
        """The devices that a call moves to, none for one that moves nothing; None: unknown."""
        function = call.func
        assert isinstance(function, ast.Attribute)
        if function.attr == "cuda":
            return frozenset({"cuda"})
        if function.attr == "cpu":
            return _NOWHERE
        target = argument(call, 0, "device")
        if target is None or is_dtype(target):
            return _NOWHERE
        types = self._values.device_types(target)
        return None if types is None else frozenset(types)
