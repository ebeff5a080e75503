"""A trace that only CUDA's profiler records is not left out without a word."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Cli

_STEP = """import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def step(number):
    {call}
    if number == 9:
        raise SystemExit("the trace is written")


step(9)
"""


def test_a_test_around_the_profiler_is_not_safe(cli: Cli, project: Path) -> None:
    text = _fixed(cli, project, "torch.cuda.profiler.start()")

    assert "    torch.cuda.profiler.start()\n    if number" in text
    assert "if torch.cuda.is_available():" not in text


def test_who_asks_for_it_gets_it(cli: Cli, project: Path) -> None:
    text = _fixed(cli, project, "torch.cuda.profiler.start()", "--unsafe-fixes")

    assert '    if device.type == "cuda":\n        torch.cuda.profiler.start()\n' in text


def test_one_around_a_setting_of_cuda_is(cli: Cli, project: Path) -> None:
    text = _fixed(cli, project, "torch.cuda.set_device(0)")

    assert '    if device.type == "cuda":\n        torch.cuda.set_device(0)\n' in text


def _fixed(cli: Cli, project: Path, call: str, *options: str) -> str:
    script = project / "step.py"
    script.write_text(_STEP.format(call=call))
    cli("fix", "--no-verify", "--no-cache", *options, "step.py")
    return script.read_text()
