"""Numbers of processes under other names, and who starts processes that join NCCL."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.worlds.conftest import found

_SHARED = """
import torch
from mpi4py import MPI

gpu = {number} % torch.cuda.device_count()
torch.cuda.set_device(gpu)
u = torch.zeros(10, device=f"cuda:{{gpu}}")
"""


@pytest.mark.parametrize("number", ["MPI.COMM_WORLD.Get_rank()", "torch.distributed.get_rank()"])
def test_a_gpu_that_a_rank_chooses_is_that_of_a_process(number: str) -> None:
    assert found(_SHARED.format(number=number)) == []


def test_one_that_something_else_chooses_is_not() -> None:
    assert len(found(_SHARED.format(number="len(MPI.__name__)"))) == 3


_WORKER = """
import torch.distributed as dist


def run(rank, world, batch):
    dist.init_process_group("{backend}", rank=rank, world_size=world)
"""
_STARTING = """
import torch
import torch.multiprocessing as mp
from worker import run

n = torch.cuda.device_count()
batch = 32 // n
mp.spawn(run, nprocs=n, args=(n, batch))
"""


@pytest.mark.parametrize(("backend", "codes"), [("nccl", []), ("gloo", ["MPS206"])])
def test_who_starts_processes_that_join_nccl_has_cuda(
    cli: Cli, project: Path, backend: str, codes: list[str]
) -> None:
    (project / "worker.py").write_text(_WORKER.format(backend=backend).lstrip("\n"))
    (project / "main.py").write_text(_STARTING.lstrip("\n"))
    ran = cli("check", "--extend-select", "MPS206", "--output-format", "json", "main.py")
    assert [finding["code"] for finding in json.loads(ran.out)] == codes


_SENT = """
import torch
import torch.distributed as dist


def as_tensor(data, group):
    backend = dist.get_backend(group)
    device = torch.device({selection})
    return torch.tensor(data).to(device)
"""


@pytest.mark.parametrize(
    "selection",
    [
        '"cpu" if backend == "gloo" else "cuda"',
        '"cuda" if backend == "nccl" else "cpu"',
        '"cuda" if data and dist.get_backend() == torch.distributed.Backend.NCCL else "cpu"',
    ],
)
def test_the_processes_of_a_mac_talk_by_gloo(selection: str) -> None:
    assert found(_SENT.format(selection=selection)) == []


def test_what_is_sent_to_cuda_for_gloo_is_told() -> None:
    assert found(_SENT.format(selection='"cuda" if backend == "gloo" else "cpu"'))


_TRYING = """
import logging
import os

import torch
import torch.distributed as dist


def start():
    dist.init_process_group(backend="nccl")
    return int(os.environ["RANK"])


def guessed():
    try:
        rank = start()
    except RuntimeError as error:
        if "{text}" in error.args[0]:
            logging.info(error)
            rank = 0
        else:
            raise
    return rank


def main():
    rank = guessed()
    model = torch.nn.Linear(3, 3).cuda()
    print(rank, model)


main()
"""


@pytest.mark.parametrize("text", ["public", "out of memory"])
def test_who_goes_on_after_other_errors_than_those_of_a_mac_ends_there(text: str) -> None:
    assert found(_TRYING.format(text=text), "MPS102") == []


@pytest.mark.parametrize("text", ["NCCL", "built in", ""])
def test_who_goes_on_after_those_of_a_mac_comes_to_what_follows(text: str) -> None:
    assert len(found(_TRYING.format(text=text), "MPS102")) == 1


_FIXED = """
import torch
import torch.multiprocessing as mp
from nowhere import in_a_thread


def run(number, count):
    if count > 1:
        torch.distributed.init_process_group("nccl", rank=number, world_size=count)
    torch.cuda.synchronize()


if __name__ == "__main__":
    {before}
    for number in range(4):
        mp.Process(target={target}, args=(number, {count})).start()
"""


@pytest.mark.parametrize("target", ["run", "in_a_thread(run)"])
@pytest.mark.parametrize(("before", "count"), [("pass", "4"), ("count = 4", "count")])
def test_what_one_of_four_processes_does_is_for_four_gpus(
    target: str, before: str, count: str
) -> None:
    assert found(_FIXED.format(target=target, before=before, count=count), "MPS201") == []


@pytest.mark.parametrize(
    ("before", "count", "target"),
    [
        ("count = 1", "count", "run"),
        ("import sys; count = len(sys.argv)", "count", "in_a_thread(run)"),
        ("count = 4", "count", "in_a_thread(run, 2)"),
    ],
)
def test_what_one_process_does_or_who_knows_how_many_is_for_a_mac_too(
    before: str, count: str, target: str
) -> None:
    assert found(_FIXED.format(target=target, before=before, count=count), "MPS201") != []


_SET_LATER = """
import torch
import torch.multiprocessing as mp

count = 4


def choose():
    global count
    count = 1


def run(number, count):
    if count > 1:
        torch.distributed.init_process_group("nccl", rank=number, world_size=count)
    torch.cuda.synchronize()


if __name__ == "__main__":
    for number in range(4):
        choose()
        mp.Process(target=run, args=(number, count)).start()
"""


def test_a_name_that_a_function_sets_is_no_fixed_number_in_a_loop() -> None:
    assert found(_SET_LATER, "MPS201") != []
