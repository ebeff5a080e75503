"""What becomes of processes that are started for each GPU is told to those who ask for it."""

from __future__ import annotations

from mpslint.linter import lint
from mpslint.settings import Settings
from mpslint.source import SourceFile

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
