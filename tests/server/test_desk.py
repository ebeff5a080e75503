"""Who is served when, with an analysis that goes on until it is told to."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest
from lsprotocol import types

from mpslint.server.analysis import Analysis, Analyst
from mpslint.server.desk import Desk, Superseded
from mpslint.server.documents import Documents, Snapshot
from mpslint.server.workspace import Workspace
from server.typing_session import real_sized

URI, OTHER = "file:///train.py", "file:///other.py"


class Slow:
    """An analyst that begins each analysis, and looks whether to go on only when released."""

    def __init__(self) -> None:
        self.seconds = 0.0
        """What it says that an analysis takes."""
        self.began = threading.Semaphore(0)
        self.released = threading.Semaphore(0)
        self.checked: list[tuple[str, int]] = []

    def check(self, snapshot: Snapshot, pause: Callable[[], None]) -> Analysis:
        self.began.release()
        assert self.released.acquire(timeout=60)
        pause()
        self.checked.append((snapshot.uri, snapshot.parts[None].version))
        return Analysis(snapshot, seconds=self.seconds)

    def holds(self, analysis: Analysis) -> bool:
        return True


def at_desk(scenario: Callable[[Desk, Documents, Slow, list[Analysis]], Awaitable[Any]]) -> Any:
    """Run a scenario at a desk where two texts are open; the last argument is what is published."""

    async def run() -> Any:
        documents, slow, published = Documents(), Slow(), list[Analysis]()
        for uri in (URI, OTHER):
            documents.open(types.TextDocumentItem(uri, "python", 1, "import torch\n"))
        desk = Desk(documents, cast("Analyst", slow), published.append)
        try:
            return await scenario(desk, documents, slow, published)
        finally:
            slow.released.release(100)
            desk.close()

    return asyncio.run(run())


async def begun(slow: Slow) -> None:
    assert await asyncio.to_thread(slow.began.acquire, timeout=60)


def change(documents: Documents, version: int) -> None:
    whole = types.TextDocumentContentChangeWholeDocument("import torch\n" * version)
    documents.change(URI, version, [whole])


def test_an_analysis_of_a_text_that_has_changed_ends_and_says_so() -> None:
    async def scenario(desk: Desk, documents: Documents, slow: Slow, _: list[Analysis]) -> None:
        asked = asyncio.ensure_future(desk.analysis(URI))
        await begun(slow)
        change(documents, 2)
        slow.released.release(2)
        with pytest.raises(Superseded):
            await asked
        assert (await desk.analysis(URI)).snapshot.parts[None].version == 2
        assert slow.checked == [(URI, 2)]

    at_desk(scenario)


def test_who_is_cancelled_leaves_the_analysis_to_the_others() -> None:
    async def scenario(desk: Desk, _: Documents, slow: Slow, __: list[Analysis]) -> None:
        one, two = (asyncio.ensure_future(desk.analysis(URI)) for _ in range(2))
        await begun(slow)
        one.cancel()
        slow.released.release()
        with pytest.raises(asyncio.CancelledError):
            await one
        assert (await two).snapshot.uri == URI
        assert slow.checked == [(URI, 1)], "both waited for the same one"

    at_desk(scenario)


def test_of_many_changes_during_an_analysis_the_last_one_is_published() -> None:
    async def scenario(
        desk: Desk, documents: Documents, slow: Slow, published: list[Analysis]
    ) -> None:
        desk.touched(URI)
        await begun(slow)
        for version in range(2, 30):
            change(documents, version)
            desk.touched(URI)
        slow.released.release(2)
        while not published:
            await asyncio.sleep(0.001)
        assert slow.checked == [(URI, 29)]
        assert [one.snapshot.parts[None].version for one in published] == [29]

    at_desk(scenario)


@pytest.mark.parametrize("in_a_row", [1, 2, 3])
def test_a_change_by_itself_is_answered_at_once_and_several_in_a_row_when_they_pause(
    in_a_row: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept, sleep = list[float](), asyncio.sleep

    async def noted(seconds: float) -> None:
        slept.append(seconds)
        await sleep(0)

    async def scenario(
        desk: Desk, documents: Documents, slow: Slow, published: list[Analysis]
    ) -> None:
        slow.seconds = 1000
        slow.released.release(2)
        await desk.analysis(URI)
        monkeypatch.setattr("mpslint.server.desk.asyncio.sleep", noted)
        for version in range(2, 2 + in_a_row):
            change(documents, version)
            desk.touched(URI)
        while not published:
            await sleep(0.001)
        assert len(slept) == (in_a_row > 1)
        assert slow.checked == [(URI, 1), (URI, 1 + in_a_row)]

    at_desk(scenario)


def test_what_somebody_waits_for_comes_before_a_look_at_everything_again() -> None:
    async def scenario(desk: Desk, documents: Documents, slow: Slow, _: list[Analysis]) -> None:
        desk.touched(URI)
        await begun(slow)
        desk.later([OTHER])
        await asyncio.sleep(0)
        change(documents, 2)
        desk.touched(URI)
        slow.released.release(3)
        while len(slow.checked) < 2:
            await asyncio.sleep(0.001)
        assert slow.checked == [(URI, 2), (OTHER, 1)]

    at_desk(scenario)


@pytest.mark.parametrize("looks", [1, 5, 15])
def test_fixes_of_a_whole_file_end_when_the_text_changes(looks: int) -> None:
    documents, workspace = Documents(), Workspace()
    analyst = Analyst(workspace)
    documents.open(types.TextDocumentItem(URI, "python", 1, real_sized(60)))
    snapshot = documents.snapshot(URI)
    settings = analyst.check(snapshot, lambda: None).settings
    assert settings is not None
    looked = 0

    def pause() -> None:
        nonlocal looked
        looked += 1
        if looked == looks:
            raise Superseded

    with pytest.raises(Superseded):
        analyst.fix_all(snapshot, settings, None, pause, unsafe=True)
    assert looked == looks, "nothing was done for it any more"
