"""A program hands its `main` to a function that joins a process group and calls it: what only NCCL
runs is CUDA's, wherever the joining function stands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_JOINING = """
import torch
import torch.distributed as dist


def joined(rank, size, run, args):
    dist.init_process_group(backend="{backend}", rank=rank, world_size=size)
    {body}
"""
_PROGRAM = """
import torch
import torch.multiprocessing as mp
from torch.multiprocessing import Process
{joining}

def main(args):
    print(torch.ones(2).cuda())


if __name__ == "__main__":
    {start}
"""
_CALLED = "joined(0, 1, main, None)"
_STARTS = {
    "called": _CALLED,
    "a process": "Process(target=joined, args=(0, 1, main, None)).start()",
    "spawned": "mp.spawn(joined, args=(1, main, None), nprocs=1)",
}


def _codes(
    cli: Cli,
    project: Path,
    start: str,
    *,
    apart: bool = False,
    backend: str = "nccl",
    body: str = "run(args)",
) -> list[str]:
    joining = _JOINING.format(backend=backend, body=body)
    (project / "joining.py").write_text(joining)
    joining = "from joining import joined\n" if apart else joining
    (project / "program.py").write_text(_PROGRAM.format(joining=joining, start=start))
    ran = cli("check", "--output-format", "json", "program.py")
    return [finding["code"] for finding in json.loads(ran.out)]


@pytest.mark.parametrize("apart", [False, True], ids=["beside", "elsewhere"])
@pytest.mark.parametrize("start", _STARTS.values(), ids=_STARTS)
def test_what_is_called_behind_nccl_alone_is_for_cuda(
    cli: Cli, project: Path, start: str, apart: bool
) -> None:
    assert _codes(cli, project, start, apart=apart) == []


@pytest.mark.parametrize("apart", [False, True], ids=["beside", "elsewhere"])
def test_a_group_of_processes_on_the_cpu_is_for_all(cli: Cli, project: Path, apart: bool) -> None:
    assert "MPS102" in _codes(cli, project, _CALLED, apart=apart, backend="gloo")


@pytest.mark.parametrize("apart", [False, True], ids=["beside", "elsewhere"])
def test_what_is_called_without_the_group_too_is_for_all(
    cli: Cli, project: Path, apart: bool
) -> None:
    start = f"import sys\n    {_CALLED} if len(sys.argv) > 1 else main(None)"
    assert "MPS102" in _codes(cli, project, start, apart=apart)


@pytest.mark.parametrize("body", ["return run", "later = run"], ids=["given back", "kept"])
def test_who_keeps_what_he_is_given_may_call_it_anywhere(
    cli: Cli, project: Path, body: str
) -> None:
    assert "MPS102" in _codes(cli, project, _CALLED, body=body)


_HELPERS = """
import torch.distributed as dist
import torch.multiprocessing as mp


def _joined(rank, size, port, run, args):
    dist.init_process_group("{backend}", rank=rank, world_size=size)
    run(rank, *args)


def run_on(size, run, *args):
    {between}mp.spawn(_joined, (size, 29500, run, args), nprocs=size)


def spawned(run, size):
    run_on(size, run)
"""
_TEST = """
from functools import partial

import torch
from helpers import run_on, spawned
from nets import made


def body(rank, depth=1):
    print(made(), torch.ones(depth).cuda())


def test_body():
    {start}
"""
_NETS = "import torch\n\n\ndef made():\n    return torch.zeros(4, device='cuda')\n"
_RUNS = {
    "handed on": "run_on(2, body)",
    "handed on twice": "spawned(body, 2)",
    "with arguments": "run_on(2, partial(body, depth=3))",
    "under a name": "run = partial(body, depth=3)\n    spawned(run, 2)",
}


def _told(
    cli: Cli, project: Path, start: str, *, backend: str = "nccl", between: str = ""
) -> list[str]:
    (project / "helpers.py").write_text(_HELPERS.format(backend=backend, between=between))
    (project / "nets.py").write_text(_NETS)
    (project / "test_program.py").write_text(_TEST.format(start=start))
    ran = cli("check", "--output-format", "json", ".")
    return [finding["code"] for finding in json.loads(ran.out)]


@pytest.mark.parametrize("start", _RUNS.values(), ids=_RUNS)
def test_what_a_helper_hands_on_to_processes_of_nccl_is_for_cuda_and_so_is_what_that_uses(
    cli: Cli, project: Path, start: str
) -> None:
    assert _told(cli, project, start) == []


@pytest.mark.parametrize("start", _RUNS.values(), ids=_RUNS)
def test_what_a_helper_hands_on_to_processes_on_the_cpu_is_for_all(
    cli: Cli, project: Path, start: str
) -> None:
    assert _told(cli, project, start, backend="gloo") == ["MPS101", "MPS102"]


def test_a_helper_that_also_keeps_what_it_is_given_says_nothing(cli: Cli, project: Path) -> None:
    assert _told(cli, project, _RUNS["handed on"], between="KEPT.append(run)\n    ") == [
        "MPS101",
        "MPS102",
    ]


_ANOTHER = "\n\n\ndef test_alone():\n    {}"


@pytest.mark.parametrize("use", ["body(0)", "print(body)", "partial(body, depth=2)(0)"])
@pytest.mark.parametrize("start", _RUNS.values(), ids=_RUNS)
def test_what_another_test_uses_without_processes_is_for_all(
    cli: Cli, project: Path, start: str, use: str
) -> None:
    assert "MPS102" in _told(cli, project, start + _ANOTHER.format(use))
