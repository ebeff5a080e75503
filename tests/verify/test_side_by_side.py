"""Launches at the same time: as many as fit, each in a room of its own, and all end together."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from mpslint.verify import Request, side_by_side
from mpslint.verify.interpreter import ask
from mpslint.verify.sandbox import process
from mpslint.verify.workshop import Workshop

from .conftest import ended, launch

GIGABYTE = 1 << 30


@pytest.fixture
def processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_by_side, "_processors", lambda: 4)


@pytest.mark.usefixtures("processors")
@pytest.mark.parametrize(("peak", "fits"), [(GIGABYTE, 3), (4 * GIGABYTE, 1), (3 * GIGABYTE, 1)])
def test_as_many_run_as_the_memory_holds(peak: int, fits: int) -> None:
    before = launch("cuda", ending=ended()._replace(peak_memory=peak))
    assert side_by_side.width(3, before, 8 * GIGABYTE) == fits


@pytest.mark.usefixtures("processors")
def test_long_runs_do_not_take_each_other_the_processors() -> None:
    before = launch("cuda", ending=ended()._replace(peak_memory=GIGABYTE, seconds=90.0))
    assert side_by_side.width(3, before, 8 * GIGABYTE) == 1


@pytest.mark.usefixtures("processors")
def test_without_a_run_to_go_by_they_run_one_after_the_other() -> None:
    assert side_by_side.width(3, None, 8 * GIGABYTE) == 1


@pytest.fixture
def workshop(tmp_path: Path) -> Any:
    (tmp_path / "train.py").write_text("import torch\n")
    request = Request(str(tmp_path / "train.py"))
    with Workshop(request, ask(request.interpreter, {})) as made:
        yield made


def test_each_has_a_room_of_its_own_and_the_last_ones_is_gone(workshop: Workshop) -> None:
    workshop.lay_out({})
    rooms: list[str] = []

    def look(room: Workshop, what: str) -> Any:
        room.lay_out({})
        rooms.append(room.inside(room.script))
        assert os.path.isfile(rooms[-1])
        return what

    assert side_by_side.launched(workshop, ["a", "b"], look, 2) == ["a", "b"]
    assert len({*rooms, workshop.inside(workshop.script)}) == 3
    assert not os.path.exists(workshop.inside(workshop.script))


def test_what_goes_wrong_in_one_ends_the_others(workshop: Workshop) -> None:
    def fail_or_wait(room: Workshop, what: str) -> Any:
        if what == "fails":
            raise OSError("no room")
        assert room.stop.wait(60)

    with pytest.raises(OSError, match="no room"):
        side_by_side.launched(workshop, ["fails", "waits"], fail_or_wait, 2)


def test_a_command_ends_when_it_is_asked_to(tmp_path: Path) -> None:
    for name in ("run", "out"):
        (tmp_path / name).mkdir()
    writable = [str(tmp_path / "run")]
    places = process.Places(writable, [], [str(tmp_path)], {}, [], [])
    limits = process.Limits(600.0, 0, GIGABYTE, 64, GIGABYTE)
    stop = threading.Event()
    command = process.Command(
        ["/bin/sh", "-c", "sleep 500"], str(tmp_path / "run"), {}, places, limits, (), stop
    )
    threading.Timer(1.0, stop.set).start()
    with pytest.raises(process.Stopped):
        process.run(command)
