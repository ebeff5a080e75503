"""What happened during the run: counters by source line, losses, limits, events."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from .frames import Location, user_location
from .guarded import Guarded

MAX_LOSSES = 10_000
MAX_CALLS = 2000
MAX_EVENTS = 100_000
MAX_STEPS = 500
MAX_PARTS = 200
MAX_CLOCKS = 10_000

_in_order = threading.RLock()  # what threads add and tell must come in one order


def is_looked_at(step: int) -> bool:
    """Whether the weights are read after this step: each of the first ones, then less and less
    often, so that a long run is looked at to its end.
    """
    return step % (1 << max(step.bit_length() - 6, 0)) == 0


class Recorder(Guarded):
    """Counters of one process; every method may be called from any thread."""

    __slots__ = (
        "_count", "_last_totals", "_more", "_waited", "calls", "clocks", "copies", "digests",
        "drawn", "events", "fallbacks", "forwards", "from_children", "halves",
        "importing_torch", "in_part", "limits", "lines_of_children", "losses",
        "lowered", "notes", "optimizers", "parameters_on_device", "reached", "self_test",
        "simulates", "started", "step_rows", "steps", "switches", "syncs", "tell", "tick",
        "trace", "unavailable", "visible_devices",
    )  # fmt: skip

    def __init__(self) -> None:
        self.tell: Callable[[dict[str, Any]], None] | None = None
        self.started = time.perf_counter()
        self.trace = False
        self.importing_torch = False
        self._count_from_nothing()
        self._waited = (0, False)  # after which operation, and whether the script asked for it
        self.clocks: list[tuple[int, int, bool]] = []
        self.lowered: set[str] = set()  # types of autocast that were used, and "GradScaler"
        self.halves: set[str] = set()  # types below float32 of tensors on the device
        self.drawn = 0  # random numbers, on the device, from its default generator
        self.steps = 0
        self.forwards = 0
        self.switches = 0
        self.optimizers = 0
        self.parameters_on_device = 0
        self.reached: set[int] = set()
        self.lines_of_children: list[list[Any]] = []
        self.in_part: list[list[Any]] = []
        self.syncs: Counter[tuple[str, int, str]] = Counter()
        self.copies: dict[tuple[str, int, str], list[int]] = {}
        self.fallbacks: Counter[tuple[str, str, int]] = Counter()
        self.limits: Counter[str] = Counter()
        self.notes: Counter[str] = Counter()
        self.losses: list[float] = []
        self.digests: list[dict[str, Any]] = []
        self.calls: list[list[str]] = []
        self.events: list[dict[str, Any]] = []
        self.step_rows: list[dict[str, Any]] = []
        self.self_test: dict[str, Any] = {"passed": 0, "failed": []}
        self.simulates: str | None = None
        self.unavailable: str | None = None
        self.visible_devices: str | None = None
        self._last_totals: dict[str, float] = {}
        self.from_children = {"losses": 0, "params_digest": 0, "steps": 0, "ops": 0}

    def _count_from_nothing(self) -> None:
        """Each operation of the device takes a number from `tick`: nothing that costs a kernel less
        counts, and no two threads get the same one. `_more` are those that somebody else counted.
        """
        self._count = itertools.count(1)
        self.tick = self._count.__next__
        self._more = 0

    @property
    def ops(self) -> int:
        """Operations on the device. The first one is told: a number alone can be set."""
        return int(repr(self._count)[6:-1]) - 1 + self._more  # `count(7)`: asking takes no number

    @ops.setter
    def ops(self, value: int) -> None:
        first = not self.ops
        self._more += value - self.ops
        if first and value:
            self.begins()

    def operation(self) -> None:
        """An operation runs on the device."""
        if self.tick() == 1:
            self.begins()

    def begins(self) -> None:
        """The first operation runs on the device."""
        if not self.importing_torch:
            self._say(used=True)

    def sync(self, name: str, count: int = 1, place: Location | None = None) -> None:
        """The host waited for the device ``count`` times."""
        file, line = place or user_location()
        self.syncs[(file, line, name)] += count
        on_purpose = name.endswith("synchronize")
        now = self.ops
        self._waited = (now, on_purpose or (now, True) == self._waited)
        if self.trace:
            self.event("sync", name, (file, line))

    def clock_was_read(self) -> None:
        """How many operations there were, after which of them something waited for the device, and
        whether the script did so on purpose.
        """
        if len(self.clocks) < MAX_CLOCKS:
            self.clocks.append((self.ops, *self._waited))

    def copy(self, direction: str, size: int, place: Location | None = None) -> None:
        """``size`` bytes were copied; ``direction`` is ``h2d``, ``d2h`` or ``d2d``."""
        file, line = place or user_location()
        row = self.copies.setdefault((file, line, direction), [0, 0])
        row[0] += 1
        row[1] += size
        if direction != "d2d":
            self.switches += 1
        if self.trace:
            self.event(direction, "copy", (file, line), size=size)

    def fallback(self, operator: str) -> None:
        """An operator without a kernel ran on the CPU."""
        file, line = user_location()
        self.fallbacks[(operator, file, line)] += 1
        self.switches += 1
        if self.trace:
            self.event("fallback", operator, (file, line))

    def limit(self, message: str) -> None:
        """The simulation could not do something; the run proves nothing any more."""
        self.limits[message] += 1
        if self.limits[message] == 1 and not self.importing_torch:
            self._say(limit=message)

    def loaded(self) -> None:
        """The check's own modules are complete: from now on they stay as they are."""
        self._say(loaded=True)

    def missing(self, message: str) -> None:
        """There is no device: what follows proves nothing."""
        self.unavailable = message
        self._say(unavailable=message)

    def note(self, message: str) -> None:
        """Something the reader of the report should know."""
        self.notes[message] += 1

    def went_in_part(self, what: str, kept: int, total: int | None, place: Location) -> None:
        """A loop or a data loader was gone through in part; each kind of part is kept once."""
        row = [what, kept, total, *place]
        if row not in self.in_part and len(self.in_part) < MAX_PARTS:
            self.in_part.append(row)

    def loss(self, value: float) -> None:
        """``backward`` was called on a number."""
        with _in_order:
            self.losses.append(value)
            self._say(loss=value)

    def digest(self, row: dict[str, Any]) -> None:
        """The parameters after a step."""
        with _in_order:
            self.digests.append(row)
            self._say(digest=row)

    def _say(self, **record: Any) -> None:
        if self.tell is not None:
            self.tell(record)

    def call(self, name: str, argument: str = "") -> None:
        """User code called a device API or chose a device. Moves, of which there are many, leave
        room for the rest.
        """
        if len(self.calls) < (MAX_CALLS if name == "move" else 2 * MAX_CALLS):
            self.calls.append([name, argument])

    def event(
        self,
        kind: str,
        name: str,
        place: Location,
        duration: float = 0.0,
        size: int = 0,
        began: float | None = None,
    ) -> None:
        """Add one row to the timeline (only called with ``--trace``)."""
        if len(self.events) >= MAX_EVENTS:
            return
        moment = (time.perf_counter() if began is None else began) - self.started
        self.events.append(
            {
                "t": round(moment, 6),
                "kind": kind,
                "name": name,
                "file": place[0],
                "line": place[1],
                "dur": round(duration, 6),
                "bytes": size,
                "step": self.steps,
            }
        )

    def totals(self) -> dict[str, float]:
        """Running totals, from which the rows per training step are made."""
        copied = {"h2d": 0, "d2h": 0, "d2d": 0}
        moved = 0
        for (_, _, direction), (count, size) in list(self.copies.items()):
            copied[direction] += count
            moved += size
        return {
            "seconds": time.perf_counter() - self.started,
            "device_ops": self.ops,
            "syncs": sum(self.syncs.values()),
            "h2d": copied["h2d"],
            "d2h": copied["d2h"],
            "bytes": moved,
            "fallbacks": sum(self.fallbacks.values()),
            "switches": self.switches,
        }

    def end_step(self) -> None:
        """An optimizer step is complete: keep what this step cost."""
        self.steps += 1
        if len(self.step_rows) < MAX_STEPS:
            now = self.totals()
            row: dict[str, Any] = {"step": self.steps}
            for key, value in now.items():
                row[key] = round(value - self._last_totals.get(key, 0), 6)
            self.step_rows.append(row)
            self._last_totals = now
            self._say(step=self.steps, ops=self.ops)
        if self.trace:
            self.event("step", f"step {self.steps}", user_location())

    def forget(self) -> None:
        """Start counting from nothing (the self-test ran operations of its own)."""
        self._count_from_nothing()
        self._waited = (0, False)
        self.switches = 0
        for counter in (self.syncs, self.fallbacks, self.limits, self.notes):
            counter.clear()
        self.copies.clear()
        self.halves.clear()
        del self.calls[:], self.events[:], self.clocks[:]

    def forget_parent(self) -> None:
        """In a forked child: the parent reports what it did itself."""
        self.tell = None
        self.forget()
        self.reached.clear()
        self.steps = self.forwards = 0
        del self.losses[:], self.digests[:], self.step_rows[:], self.in_part[:]


RECORDER = Recorder()
os.register_at_fork(after_in_child=RECORDER.forget_parent)
