"""What counts as a move to a real device; torch's device without memory stands for one here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from mpslint.verify.harness import real_device
from mpslint.verify.harness.recorder import Recorder

THERE = torch.empty(1, device="meta")


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    found = Recorder()
    monkeypatch.setattr(real_device, "RECORDER", found)
    return found


def counted(name: str) -> Callable[..., Any]:
    return real_device._counting_move(getattr(torch.Tensor, name), "meta")


@pytest.mark.parametrize(("name", "argument"), [("to", "meta"), ("type_as", THERE)])
def test_what_takes_a_tensor_to_the_device_is_a_move(
    recorder: Recorder, name: str, argument: object
) -> None:
    counted(name)(torch.ones(2), argument)
    assert recorder.calls == [["move", "meta"]]


def test_another_type_on_the_same_device_is_no_move(recorder: Recorder) -> None:
    assert counted("type")(torch.ones(2), torch.float64).dtype == torch.float64
    assert recorder.calls == []


def test_the_name_of_a_type_is_asked_for(recorder: Recorder) -> None:
    assert counted("type")(torch.ones(2)) == "torch.FloatTensor"


def test_all_ways_to_a_device_are_watched() -> None:
    assert {"to", "cuda", "cpu", "type", "type_as"} <= set(real_device._MOVES)
