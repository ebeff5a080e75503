"""A hook of a `conftest.py` that makes a skip of what torch raises without CUDA: each test that
raises it is run where CUDA is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_HOOK = """
import pytest
import torch


def pytest_runtest_call(item):
    try:
        torch.manual_seed(0)
        item.runtest()
    except AssertionError as ae:
        if str(ae) == "Torch not compiled with CUDA enabled":
            pytest.skip("Torch not compiled with CUDA enabled")
        raise
    except RuntimeError as re:
        if "Found no NVIDIA driver on your system" in str(re):
            pytest.skip("No NVIDIA driver found")
        raise
"""
_TEST = """
import time

import torch


def quantized(x):
    return x.half().cuda()


def test_speed():
    a = torch.rand(8, 64, device="cuda")
    b = quantized(torch.rand(8, 64))
    torch.cuda.synchronize()
    start = time.time()
    torch.matmul(a, b.t())
    torch.cuda.synchronize()
    print(time.time() - start)
"""
_SAID = '"Torch not compiled with CUDA enabled"'
_ALL = ["MPS101", "MPS102", "MPS201", "MPS201"]


def _told(cli: Cli, folder: Path, hook: str, test: str = _TEST) -> list[str]:
    (folder / "conftest.py").write_text(hook.lstrip("\n"))
    (folder / "test_speed.py").write_text(test.lstrip("\n"))
    ran = cli("check", "--output-format", "json", "test_speed.py")
    return sorted(finding["code"] for finding in json.loads(ran.out))


@pytest.mark.parametrize(
    "hook",
    [
        _HOOK,
        _HOOK.replace(f"str(ae) == {_SAID}", '"not compiled" in str(ae)'),
        _HOOK.replace("pytest_runtest_call(item)", "pytest_pyfunc_call(pyfuncitem)").replace(
            "item.runtest()", "outcome = yield; outcome.get_result()"
        ),
    ],
)  # fmt: skip
def test_what_a_hook_makes_a_skip_of_is_for_machines_with_cuda(
    cli: Cli, project: Path, hook: str
) -> None:
    assert _told(cli, project, hook) == []


@pytest.mark.parametrize(
    "hook",
    [
        _HOOK.replace("Torch not compiled with CUDA", "Out of memory"),
        _HOOK.replace("except AssertionError", "except ImportError"),
        _HOOK.replace("pytest_runtest_call", "pytest_runtest_setup"),
        _HOOK.replace("pytest.skip(", "print("),
    ],
)  # fmt: skip
def test_one_that_skips_for_something_else_or_not_at_all_hides_nothing(
    cli: Cli, project: Path, hook: str
) -> None:
    assert _told(cli, project, hook) == _ALL


def test_what_a_test_does_that_asks_before_is_told_as_ever(cli: Cli, project: Path) -> None:
    """The hook sees no error: nothing raises for want of CUDA."""
    test = """
import torch


def test_sum():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    assert torch.ones(2, device=device).sum() == 2
"""
    assert _told(cli, project, _HOOK, test) == ["MPS103"]
