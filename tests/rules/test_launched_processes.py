"""What becomes of processes that are started for each GPU is told to those who ask for it."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

_PROGRAM = """
import torch

if not torch.cuda.is_available():
    print("on the CPU")
count = torch.cuda.device_count()
{}
"""


def _found(line: str, settings: Settings) -> list[str]:
    source = SourceFile("program.py", _PROGRAM.format(line).encode())
    return [finding.code for finding in lint(source, settings)]


def test_what_is_shared_out_among_processes_is_told_by_name_alone() -> None:
    assert _found("print(rank % count)", Settings()) == []
    assert _found("print(rank % count)", Settings(select=("MPS206",))) == ["MPS206"]


def test_a_count_of_processes_to_spawn_is_told_by_name_alone() -> None:
    line = "torch.multiprocessing.spawn(run, nprocs=count)"
    assert _found(line, Settings()) == []
    assert _found(line, Settings(extend_select=("cuda-device-query",))) == ["MPS206"]


def test_what_is_done_to_everybody_is_told() -> None:
    assert _found("print(batch_size // count)", Settings()) == ["MPS206"]


_HANDED_ON = """
import os
import torch
import torch.multiprocessing as mp

def main(args):
    per_node = torch.cuda.device_count()
    if args.multiprocessing_distributed:
        mp.spawn(work, nprocs=per_node, args=(per_node, args))
    else:
        work(args.gpu, per_node, args)

def work(gpu, per_node, args):
    model = torch.nn.Linear(2, 2).to("cpu")
    {}
    return model
"""


def _told_of_handed(line: str, settings: Settings) -> list[str]:
    source = SourceFile("program.py", _HANDED_ON.format(line).encode())
    return [finding.code for finding in lint(source, settings)]


def test_a_number_that_is_shared_out_whatever_anybody_asks_for_is_told() -> None:
    line = "print('first' if args.rank % per_node == 0 else '')"
    assert _told_of_handed(line, Settings()) == ["MPS206"]


@pytest.mark.parametrize(
    "line",
    [
        "print(args.spread and args.rank % per_node == 0)",
        "size = args.size // per_node if args.distributed else args.size",
    ],
)
def test_what_is_shared_out_under_a_test_is_told_by_name_alone(line: str) -> None:
    assert _told_of_handed(line, Settings()) == []
    assert _told_of_handed(line, Settings(select=("MPS206",))) == ["MPS206"]


def test_what_only_several_processes_divide_by_is_not_told() -> None:
    line = "size = args.size // per_node if int(os.environ['WORLD_SIZE']) > 1 else args.size"
    assert _told_of_handed(line, Settings(select=("MPS206",))) == []


def test_what_is_divided_by_a_number_that_is_asked_about_is_not_told() -> None:
    line = "size = per_node * 4; print(args.total // size if size else args.total)"
    assert _told_of_handed(line, Settings(select=("MPS206",))) == []


_ASKING = """
import subprocess
import torch

def show():
    {}
    return subprocess.check_output(["nvidia-smi"])
"""


def test_a_function_that_only_asks_the_driver_is_told_by_name_alone() -> None:
    def codes(line: str, settings: Settings) -> list[str]:
        source = SourceFile("helpers.py", _ASKING.format(line).encode())
        return [finding.code for finding in lint(source, settings)]

    assert codes("print('GPUs:')", Settings()) == []
    assert codes("print('GPUs:')", Settings(select=("MPS206",))) == ["MPS206"]
    assert codes("print(torch.ones(2))", Settings()) == ["MPS206"]
