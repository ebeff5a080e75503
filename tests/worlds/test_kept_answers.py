"""The number of CUDA's devices is kept by the class of a configuration, and asked of its objects in
other files, which do not know what they are given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_SETTINGS = """
import torch


class Settings:
    total_gpus = {count}
"""
_CODEC = """
import torch


class Codec:
    def __init__(self, config, centroids):
        self.use_gpu = config.total_gpus > 0
        self.centroids = centroids.cuda() if self.use_gpu else centroids.float()

    def binarize(self, residuals):
        if self.use_gpu:
            residuals = residuals.cuda()
        return residuals @ self.centroids
"""
_COUNT = "torch.cuda.device_count()"


def _messages(cli: Cli, project: Path, count: str, more: str = "") -> list[str]:
    (project / "setup.cfg").write_text("")
    (project / "settings.py").write_text(_SETTINGS.format(count=count))
    (project / "codec.py").write_text(_CODEC)
    (project / "more.py").write_text(more)
    ran = cli("check", "--output-format", "json", "codec.py")
    return [finding["message"] for finding in json.loads(ran.out)]


def test_what_a_count_of_cuda_decides_raises_nowhere(cli: Cli, project: Path) -> None:
    messages = _messages(cli, project, _COUNT)
    assert messages
    assert not any("raises" in message for message in messages)


@pytest.mark.parametrize(
    ("count", "more"),
    [
        ("1", ""),
        (_COUNT, "def run(config):\n    config.total_gpus = 2\n"),
        (_COUNT, "from settings import Settings\n\nconfig = Settings(total_gpus=2)\n"),
        (_COUNT, "def run(config):\n    setattr(config, 'total_gpus', 2)\n"),
    ],
    ids=["another number", "set elsewhere", "given to a class", "by a text"],
)
def test_a_number_that_somebody_else_may_set_is_anything(
    cli: Cli, project: Path, count: str, more: str
) -> None:
    assert any("raises" in message for message in _messages(cli, project, count, more))


_FLAG = """
import torch


class Settings:
    use_cuda = {flag}
"""
_STEPS = """
import torch


class Steps:
    def __init__(self, config):
        self.config = config

    def step(self, x):
        if self.config.use_cuda:
            x = x.cuda()
        return x
"""


def _told_of_steps(cli: Cli, project: Path, flag: str, more: str = "") -> list[str]:
    (project / "setup.cfg").write_text("")
    (project / "settings.py").write_text(_FLAG.format(flag=flag))
    (project / "steps.py").write_text(_STEPS)
    (project / "more.py").write_text(more)
    ran = cli("check", "--output-format", "json", "steps.py")
    return [finding["message"] for finding in json.loads(ran.out)]


def test_what_a_flag_of_cuda_decides_raises_nowhere(cli: Cli, project: Path) -> None:
    messages = _told_of_steps(cli, project, "torch.cuda.is_available()")
    assert messages
    assert not any("raises" in message for message in messages)


@pytest.mark.parametrize(
    ("flag", "more"),
    [
        ("True", ""),
        ("torch.cuda.is_available()", "parser.add_argument('--use-cuda', action='store_true')\n"),
        ("torch.cuda.is_available()", "def run(config):\n    config.use_cuda = True\n"),
    ],
    ids=["on", "an option", "set elsewhere"],
)
def test_a_flag_that_somebody_else_may_set_is_anything(
    cli: Cli, project: Path, flag: str, more: str
) -> None:
    assert any("raises" in message for message in _told_of_steps(cli, project, flag, more))
