"""Who is served when: the newest text first, and nothing that nobody waits for any more.

A change by itself is looked at at once. Where several come in a row, each within a fraction of what
the last analysis of that file took, the desk waits until they pause for as long, so that none is
begun in vain; one whose text changes ends before its next rule. Checks after a change elsewhere on
disk come after all that somebody waits for.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from mpslint.records import NamedTuple
from mpslint.server.documents import Unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mpslint.server.analysis import Analysis, Analyst
    from mpslint.server.documents import Documents, Snapshot

_FRACTION, _LONGEST = 0.2, 0.2
"""Changes that come within so much of the time of an analysis, at most so many seconds, are of one
row, and answered together."""
_Result = TypeVar("_Result")
_log = logging.getLogger(__name__)


class Superseded(Exception):
    """The text has changed while it was looked at."""


class _Running(NamedTuple):
    stamp: int
    future: asyncio.Future[Analysis]


class Desk:
    """Runs all analysis in one thread beside that of the protocol."""

    def __init__(
        self, documents: Documents, analyst: Analyst, publish: Callable[[Analysis], None]
    ) -> None:
        """`publish` gets each analysis that was asked for by a change, while it is current."""
        self._documents, self._analyst, self._publish = documents, analyst, publish
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="mpslint")
        self._known: dict[str, Analysis] = {}
        self._running: dict[str, _Running] = {}
        self._timers: dict[str, asyncio.Task[None]] = {}
        self._touched: dict[str, float] = {}
        """When a text changed last."""
        self._waiting, self._left = 0, asyncio.Event()
        """How many answers somebody waits for; whether somebody has stopped waiting."""
        self._later: dict[str, None] = {}
        self._later_task: asyncio.Task[None] | None = None
        self._closed = False

    async def call(self, function: Callable[..., _Result], *arguments: Any) -> _Result:
        """`function(*arguments)` in the thread of the analysis."""
        loop = asyncio.get_running_loop()
        with self._somebody_waits():
            return await loop.run_in_executor(self._thread, partial(function, *arguments))

    async def about(
        self, snapshot: Snapshot, function: Callable[..., _Result], *arguments: Any
    ) -> _Result:
        """`function(*arguments, pause)` in the thread of the analysis. Raises `Superseded` when the
        text changes before that is known."""
        return await self.call(function, *arguments, self._pause(snapshot))

    async def analysis(self, uri: str) -> Analysis:
        """What is known of the text as it stands now. Raises `Superseded` when it changes before
        that is known, and `Unknown` for what is not open."""
        known, stamp = self._known.get(uri), self._documents.stamp(uri)
        if known is not None and known.snapshot.stamp == stamp and self._analyst.holds(known):
            return known
        running = self._running.get(uri)
        if running is None or running.stamp != stamp:
            running = self._start(self._documents.snapshot(uri))
        with self._somebody_waits():
            # A request that is cancelled leaves the analysis to the others.
            return await asyncio.shield(running.future)

    def touched(self, uri: str) -> None:
        """A text has changed: publish what is then found, of a change by itself at once, of several
        in a row when they pause."""
        timer = self._timers.pop(uri, None)
        if timer is not None:
            timer.cancel()
        now = asyncio.get_running_loop().time()
        since = now - self._touched.get(uri, -math.inf)
        self._touched[uri] = now
        task = asyncio.ensure_future(self._after_quiet(uri, since))
        self._timers[uri] = task
        task.add_done_callback(lambda done: self._ended(uri, done))

    def later(self, uris: Iterable[str]) -> None:
        """Look at these texts again and publish, when nothing else is waited for."""
        self._later |= dict.fromkeys(uris)
        if self._later_task is None or self._later_task.done():
            self._later_task = asyncio.ensure_future(self._when_idle())

    async def meanwhile(self, steps: Iterable[Callable[[], object]]) -> None:
        """Take each of these steps when nobody waits for anything else."""
        loop = asyncio.get_running_loop()
        for step in steps:
            await self._idle()
            if self._closed:
                return
            await loop.run_in_executor(self._thread, step)

    def resting_on(self, paths: set[str]) -> list[str]:
        """The open texts whose findings rest on one of these files."""
        return [uri for uri, known in self._known.items() if not paths.isdisjoint(known.rests_on)]

    def closed(self, uri: str) -> None:
        timer = self._timers.pop(uri, None)
        if timer is not None:
            timer.cancel()
        self._known.pop(uri, None)
        self._later.pop(uri, None)
        self._touched.pop(uri, None)

    def close(self) -> None:
        """End what runs, and begin nothing more."""
        self._closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _start(self, snapshot: Snapshot) -> _Running:
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(self._thread, self._check, snapshot)
        running = self._running[snapshot.uri] = _Running(snapshot.stamp, future)
        future.add_done_callback(partial(self._done, snapshot.uri, running))
        return running

    def _check(self, snapshot: Snapshot) -> Analysis:
        pause = self._pause(snapshot)
        pause()
        return self._analyst.check(snapshot, pause)

    def _pause(self, snapshot: Snapshot) -> Callable[[], None]:
        """Ends what is done about a text that has changed."""

        def pause() -> None:
            if self._closed or self._documents.stamp(snapshot.uri) != snapshot.stamp:
                raise Superseded

        return pause

    def _done(self, uri: str, running: _Running, future: asyncio.Future[Analysis]) -> None:
        if self._running.get(uri) is running:
            del self._running[uri]
        if future.cancelled() or future.exception() is not None:
            return
        analysis = future.result()
        if analysis.snapshot.stamp == self._documents.stamp(uri):
            self._known[uri] = analysis

    async def _after_quiet(self, uri: str, since: float) -> None:
        known = self._known.get(uri)
        if known is not None and since < (quiet := min(_FRACTION * known.seconds, _LONGEST)):
            await asyncio.sleep(quiet)
        await self._publish_current(uri)

    async def _publish_current(self, uri: str) -> None:
        try:
            analysis = await self.analysis(uri)
        except (Superseded, Unknown):
            return  # whoever changed the text asks again
        except Exception:
            _log.exception("%s could not be checked", uri)
            return
        if analysis.snapshot.stamp == self._documents.stamp(uri):
            self._publish(analysis)

    async def _when_idle(self) -> None:
        while self._later:
            await self._idle()
            uri = next(iter(self._later), None)
            if uri is not None:
                del self._later[uri]
                await self._publish_current(uri)

    async def _idle(self) -> None:
        """Until nobody waits for anything."""
        while self._waiting or self._timers:
            self._left.clear()
            await self._left.wait()

    def _ended(self, uri: str, task: asyncio.Task[None]) -> None:
        if self._timers.get(uri) is task:
            del self._timers[uri]
        self._left.set()

    @contextlib.contextmanager
    def _somebody_waits(self) -> Iterator[None]:
        if asyncio.current_task() is self._later_task:
            yield
            return
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1
            self._left.set()
