"""A program that joins NCCL by way of functions some files away, whatever it is asked for."""

from __future__ import annotations

import pytest

from tests.conftest import Cli

from .conftest import EVERYWHERE, NVIDIA, comes, told_in_project

_PROGRAM = """
import sys

import torch

from lab.run.init import job_context


def evaluate(args):
    device = torch.cuda.current_device()
    print(args, device)


def main(argv=None):
    args = argv or sys.argv[1:]
    with job_context({given}):
        evaluate(args)


if __name__ == "__main__":
    main()
"""
_CONTEXT = """
import contextlib

from lab.configs import exit_job, setup_job


@contextlib.contextmanager
def job_context(output_dir=None, distributed_enabled: bool = {default}):
    {call}
    try:
        yield
    finally:
        exit_job(distributed_enabled=distributed_enabled)
"""
_CALL = "setup_job(output_dir=output_dir, distributed_enabled=distributed_enabled)"
_JOB = """
import os

import lab.distributed as distributed


def setup_job(output_dir=None, distributed_enabled=True, seed=0):
    if output_dir is not None:
        os.makedirs(output_dir, exist_ok=True)
    if seed < 0:
        raise ValueError(seed)

    def show():
        return output_dir

    if distributed_enabled:
        distributed.enable(overwrite=True)


def exit_job(distributed_enabled=True):
    pass
"""
_GROUPS = """
import torch
import torch.distributed as dist


def enable_distributed(*, set_device=True, overwrite=False):
    if set_device:
        torch.cuda.set_device(0)
    dist.init_process_group(backend="nccl")
    dist.barrier()
"""


def _told(cli: Cli, **changes: str) -> list[str]:
    given = {"given": "output_dir='out'", "default": "True", "call": _CALL} | changes
    files = {
        "lab/__init__.py": "",
        "lab/run/__init__.py": "",
        "lab/run/init.py": _CONTEXT.format(**given),
        "lab/configs/__init__.py": "from .config import exit_job, setup_job\n",
        "lab/configs/config.py": given.get("job", _JOB),
        "lab/distributed/__init__.py": "from .groups import enable_distributed as enable\n",
        "lab/distributed/groups.py": given.get("groups", _GROUPS),
        "lab/evaluate.py": _PROGRAM.format(**given),
    }
    return [code for name, _, code in told_in_project(cli, files) if name == "evaluate.py"]


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"given": ""},
        {"given": "None, True", "default": "False"},
        {"given": "distributed_enabled=True", "default": "False"},
        {"call": "if not distributed_enabled:\n        raise ValueError\n    " + _CALL},
        {"call": f"if output_dir:\n        {_CALL}\n    else:\n        setup_job()"},
        {"call": "setup_job(output_dir)"},
    ],
)
def test_no_mac_comes_to_what_it_does_then(cli: Cli, changes: dict[str, str]) -> None:
    assert _told(cli, **changes) == []


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    "changes",
    [
        {"default": "False"},
        {"given": "distributed_enabled=False"},
        {"given": "distributed_enabled=len(args) > 1"},
        {"given": "None, False"},
        {"given": "*args"},
        {"given": "**dict(distributed_enabled=False)"},
        {"call": f"if output_dir:\n        {_CALL}", "given": "output_dir=args[0]"},
        {"call": f"if exit_job():\n        return\n    {_CALL}"},
        {"call": f"for _ in range(len(output_dir)):\n        {_CALL}"},
        {"call": f"try:\n        {_CALL}\n    except RuntimeError:\n        pass"},
        {"call": f"output_dir and {_CALL}"},
        {"groups": _GROUPS.replace("nccl", "gloo")},
        {"groups": _GROUPS.replace('"nccl"', '"nccl" if torch.cuda.is_available() else "gloo"')},
        {"groups": _GROUPS.replace('="nccl"', "=BACKEND")},
        {"job": _JOB.replace("if distributed_enabled", "if os.environ.get('WORLD_SIZE')")},
    ],
)
def test_who_may_come_there_without_is_told(cli: Cli, changes: dict[str, str]) -> None:
    assert _told(cli, **changes) == ["MPS206"]


_TRAINING = """
import torch

from lab.setup import setup


def main():
    setup()
    model = torch.nn.Linear(3, 3).cuda()
    print(model(torch.ones(3).cuda()))


if __name__ == "__main__":
    main()
"""
_SETUP = """
import os

import torch.distributed as dist


def setup(distributed=True, single=False, backend="nccl"):
    {again}
    if {asked}:
        dist.init_process_group(backend)
"""
_SEVERAL = 'distributed and int(os.environ.get("WORLD_SIZE", 1)) > 1'


def _setup_told(cli: Cli, again: str, asked: str) -> list[str]:
    files = {
        "lab/__init__.py": "",
        "lab/setup.py": _SETUP.format(again=again, asked=asked),
        "train.py": _TRAINING,
    }
    return [code for name, _, code in told_in_project(cli, files) if name == "train.py"]


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("again", "asked"),
    [
        (f"distributed = {_SEVERAL}", "distributed"),
        ('if "RANK" not in os.environ: single = True', "not single"),
        ('for backend in (os.environ["BACKEND"],): pass', "distributed"),
        ("distributed &= len(os.environ) > 9", "distributed"),
        ("print(distributed := len(os.environ) > 9)", "distributed"),
        ("import gloo as backend", "distributed"),
        (
            "def choose():\n        nonlocal distributed\n        distributed = False\n"
            "    choose()",
            "distributed",
        ),
    ],
)
def test_a_parameter_that_is_bound_again_says_nothing(cli: Cli, again: str, asked: str) -> None:
    assert _setup_told(cli, again, asked) == ["MPS102", "MPS102"]


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("again", "asked"),
    [
        ("rank = distributed and 1", "distributed"),
        ("print(backend)", "not single"),
        ("def other(distributed): distributed = False", "distributed"),
    ],
)
def test_a_parameter_that_stays_what_it_is_is_believed(cli: Cli, again: str, asked: str) -> None:
    assert _setup_told(cli, again, asked) == []


_LOOP = """
import torch.distributed as dist

def mean(metrics, wanted):
    for metric in metrics:
        {turn}dist.all_reduce(metric)
    print(metrics)  # here
"""


def test_what_each_turn_of_a_loop_ends_in_the_loop_does() -> None:
    assert comes(_LOOP.format(turn="")) == NVIDIA


@pytest.mark.parametrize(
    "turn",
    [
        "if metric is None: continue\n        ",
        "if metric is None: break\n        ",
        "if wanted:\n            ",
        "print(metric)  # ",
    ],
)
def test_a_turn_that_may_come_to_its_end_ends_nothing(turn: str) -> None:
    assert comes(_LOOP.format(turn=turn)) == EVERYWHERE


def test_a_loop_that_only_several_gpus_enter_ends_nothing_for_others() -> None:
    text = _LOOP.format(turn="").replace("in metrics", "in range(torch.cuda.device_count())")
    assert "MAC" in comes(text)
