"""A refusal to run without CUDA that stands in another file is met where its function is called:
what a Mac comes to once it is taken away is told, with the place of the refusal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli

_CHECKS = '''\
import torch
def prepare():
    """Nothing is trained on a CPU."""
    {body}
    torch.manual_seed(42)
'''
_PROGRAM = """\
import time
import torch
from torch import nn
from common import prepare

def train(loader):
    prepare()
    model = nn.Linear(3, 3).cuda()
    head = nn.Linear(3, 3).to("cuda")
    with torch.autocast("cuda"):
        for batch in loader:
            head(model(batch))
    torch.cuda.synchronize()
    print(time.perf_counter(), torch.cuda.max_memory_allocated())
"""
_TOLD = [(8, "MPS102"), (9, "MPS101"), (10, "MPS208"), (13, "MPS201"), (14, "MPS203")]


def _told(cli: Cli, program: str) -> list[dict[str, Any]]:
    Path("train.py").write_text(program)
    ran = cli("check", "--no-cache", "--output-format", "json", "train.py")
    assert "internal error" not in ran.err
    found: list[dict[str, Any]] = json.loads(ran.out)
    return found


def _rows(found: list[dict[str, Any]]) -> list[tuple[int, str]]:
    return [(item["location"]["row"], item["code"]) for item in found]


@pytest.mark.parametrize(
    "body",
    [
        "assert torch.cuda.is_available(), 'needs CUDA'",
        "if not torch.cuda.is_available(): raise RuntimeError('needs CUDA')",
        "if not torch.cuda.is_available(): exit(1)",
    ],
)
def test_what_stands_behind_the_call_is_told(cli: Cli, project: Path, body: str) -> None:
    (project / "common.py").write_text(_CHECKS.format(body=body))
    found = _told(cli, _PROGRAM)
    assert _rows(found) == _TOLD
    for item in found:
        assert [
            (label["location"]["row"], label["message"])
            for label in item["related"]
            if "refuses" in label["message"]
        ] == [(7, "refuses to run without CUDA, in common.py, line 4")]


def test_a_function_that_calls_another_one_which_refuses_does_so_too(
    cli: Cli, project: Path
) -> None:
    (project / "common.py").write_text(
        "import torch\n\ndef check():\n    assert torch.cuda.is_available()\n\n"
        "def prepare():\n    check()\n    torch.cuda.manual_seed(1)\n"
    )
    found = _told(cli, _PROGRAM)
    assert _rows(found) == _TOLD
    assert "line 7 (common.py, line 4) ends a run without CUDA" in found[0]["message"]


def test_what_a_constructor_refuses_is_told_behind_it(cli: Cli, project: Path) -> None:
    (project / "common.py").write_text(
        "import torch\nclass Machine:\n    def __init__(self):\n"
        "        assert torch.cuda.is_available()\n"
    )
    program = _PROGRAM.replace("import prepare", "import Machine").replace("prepare()", "Machine()")
    assert _rows(_told(cli, program)) == _TOLD


def test_behind_a_process_group_that_is_always_started_nothing_is_told(
    cli: Cli, project: Path
) -> None:
    (project / "common.py").write_text(
        "import torch\nimport torch.distributed as dist\n\ndef prepare():\n"
        "    assert torch.cuda.is_available()\n    dist.init_process_group('nccl')\n"
    )
    assert _rows(_told(cli, _PROGRAM)) == []


def test_behind_a_refusal_of_one_gpu_alone_nothing_is_told(cli: Cli, project: Path) -> None:
    (project / "common.py").write_text(
        _CHECKS.format(body="assert torch.cuda.device_count() > 1, 'needs several GPUs'")
    )
    assert _rows(_told(cli, _PROGRAM)) == []


def test_behind_a_refusal_that_lets_mps_in_a_mac_comes_there_today(cli: Cli, project: Path) -> None:
    body = "assert torch.cuda.is_available() or torch.backends.mps.is_available()"
    (project / "common.py").write_text(_CHECKS.format(body=body))
    found = _told(cli, _PROGRAM)
    assert "refuses" not in json.dumps(found)
    assert (13, "MPS201") in _rows(found)
