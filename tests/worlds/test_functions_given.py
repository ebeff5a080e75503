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
