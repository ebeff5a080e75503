"""A function that lists the devices of the machine says where one of them is: `"mps" in f()`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_UTILS = """
import os

import torch


def devices_to_test() -> list[str]:
    excluded = os.getenv("EXCLUDED", "").split(",")
    devices = []
    if "cpu" not in excluded:
        devices.append("cpu")
    if torch.cuda.is_available() and "cuda" not in excluded:
        devices.append("cuda")
    if torch.backends.mps.is_available() and "mps" not in excluded:
        devices.append("mps")

    if len(devices) == 0:
        raise RuntimeError("no devices")

    return devices
"""
_TEST = """
import pytest
import torch

from utils import devices_to_test


@pytest.mark.skipif({condition}, reason="not there")
def test_limit() -> None:
    torch.mps.empty_cache()
    torch.cuda.synchronize()
"""
_MPS = '"mps" not in devices_to_test()'


def _told(cli: Cli, folder: Path, condition: str, utils: str = _UTILS) -> list[str]:
    (folder / "utils.py").write_text(utils.lstrip("\n"))
    (folder / "test_limit.py").write_text(_TEST.format(condition=condition).lstrip("\n"))
    ran = cli("check", "--output-format", "json", "test_limit.py")
    return [finding["code"] for finding in json.loads(ran.out)]


def test_a_test_that_is_left_to_machines_with_mps_may_use_it(cli: Cli, project: Path) -> None:
    assert _told(cli, project, _MPS) == ["MPS201"]


def test_one_that_is_left_to_machines_with_cuda_may_use_that(cli: Cli, project: Path) -> None:
    assert _told(cli, project, '"cuda" not in devices_to_test()') == ["MPS210"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('devices.append("mps")', 'devices.append(os.environ["DEVICE"])'),
        ("devices = []", 'devices = ["mps"]'),
        ("if torch.backends.mps.is_available() and", "if"),
        ("len(devices) == 0", "not more(devices)"),
    ],
)
def test_what_may_be_listed_without_mps_says_nothing(
    cli: Cli, project: Path, old: str, new: str
) -> None:
    assert old in _UTILS
    assert _told(cli, project, _MPS, _UTILS.replace(old, new)) == ["MPS210", "MPS201"]


def test_what_is_run_where_mps_is_not_listed_is_run_without(cli: Cli, project: Path) -> None:
    assert _told(cli, project, '"mps" in devices_to_test()') == ["MPS210", "MPS201"]
