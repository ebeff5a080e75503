"""Whether a process group was started is asked by a helper of another file: it is NCCL's, but where
somebody speaks of Gloo."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_HELPER = """
import torch.distributed as dist


def started():
    if not dist.is_available():
        return False
    if not dist.is_initialized():
        return False
    return True


def start():
    dist.init_process_group(backend="{backend}")
"""
_ENGINE = """
import torch
import helper


def evaluate(model, batches):
    for batch in batches:
        model(batch)
        if {asked}:
            torch.cuda.synchronize()
"""


def _codes(cli: Cli, project: Path, backend: str, asked: str) -> list[str]:
    (project / "helper.py").write_text(_HELPER.format(backend=backend))
    (project / "engine.py").write_text(_ENGINE.format(asked=asked))
    ran = cli("check", "--output-format", "json", "engine.py")
    return [finding["code"] for finding in json.loads(ran.out)]


def test_what_only_processes_of_nccl_do_is_for_cuda(cli: Cli, project: Path) -> None:
    assert _codes(cli, project, "nccl", "helper.started()") == []


@pytest.mark.parametrize(
    ("backend", "asked"), [("gloo", "helper.started()"), ("nccl", "not helper.started()")]
)
def test_what_a_mac_comes_to_is_for_all(cli: Cli, project: Path, backend: str, asked: str) -> None:
    assert _codes(cli, project, backend, asked) == ["MPS201"]
