"""Events of CUDA's that become those of the device that is there."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Cli

_TIMED = """\
import torch


def timed(model, batch):
    start = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    start.record({stream})
    model(batch)
    end.record()
    end.synchronize()
    return start.elapsed_time(end)
"""


def test_events_do_not_keep_back_the_fixes_of_each_other(cli: Cli, project: Path) -> None:
    (project / "timed.py").write_text(_TIMED.format(stream=""))

    shown = cli("check", "--isolated", "--output-format", "concise", project).out

    assert shown.count("MPS205 [*]") == 2


def test_an_event_on_a_stream_has_no_safe_fix(cli: Cli, project: Path) -> None:
    (project / "timed.py").write_text(_TIMED.format(stream="torch.cuda.default_stream()"))

    shown = cli("check", "--isolated", "--output-format", "concise", project).out

    assert "MPS205" in shown
    assert "MPS205 [*]" not in shown
