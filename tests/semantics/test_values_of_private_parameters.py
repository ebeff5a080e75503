"""What all calls of a private function give is what its parameter is; a tensor with a size takes
whatever is reckoned with it to where it is."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.project.neighbours import Neighbours
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

SCHEDULE = """\
import torch

def _schedule(u: torch.Tensor, mean):
    u = torch.as_tensor(u, dtype=torch.float32)
    return 1.0 - torch.special.expit(mean + torch.special.ndtri(u))

def sigmas(steps, device):
    u = {made}
    return _schedule(u, 0.0).to(device)
"""
DISTANCE = """\
import torch

class Distance:
    @staticmethod
    def _root(matrix):
        matrix = (matrix + matrix.T) * 0.5
        values, vectors = torch.linalg.eigh(matrix)
        return (vectors * values.sqrt()) @ vectors.T

    @classmethod
    def between(cls, a: torch.Tensor, b: torch.Tensor):
        offset = {offset}
        root = cls._root(a + offset)
        return cls._root(root @ (b + offset) @ root)
"""
SEARCH = """\
import torch

def search(latents, reward, turns: int):
    shape = latents.shape
    mean = latents.view(-1)
    spread = torch.ones_like(mean)
    device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    for turn in range(turns):
        drawn = {drawn}
        samples = mean + drawn * torch.sqrt(spread)
        for i in range(10):
            sample = samples[i].unsqueeze(0)
            reward(sample.to(device), sample.cpu())
        mean = torch.mean(torch.stack([s.view(-1) for s in samples]), dim=0)
"""


def is_told(program: str, code: str = "MPS501") -> bool:
    source = SourceFile("program.py", textwrap.dedent(program).encode())
    return bool(list(lint(source, Settings(select=(code,)))))


def test_what_a_private_function_is_given_from_the_cpu_alone_needs_no_kernel_of_mps() -> None:
    assert not is_told(SCHEDULE.format(made="torch.linspace(0.0, 1.0, steps + 1)"))
    assert not is_told(DISTANCE.format(offset="torch.eye(3, dtype=torch.float64) * 1e-6"))


@pytest.mark.parametrize(
    "made",
    ["torch.linspace(0.0, 1.0, steps + 1, device=device)", "steps.times", "torch.rand_like(steps)"],
)
def test_what_one_call_gives_from_a_device_or_from_out_of_sight_is_told(made: str) -> None:
    assert is_told(SCHEDULE.format(made=made))


@pytest.mark.parametrize(
    "more",
    [
        "print(_schedule(steps.times, 0.0))",
        "table = {'logit': _schedule}",
        "print(_schedule(*steps.given))",
        "print(globals()['_schedule'])",
    ],
)
def test_a_function_that_others_may_call_is_told(more: str) -> None:
    program = SCHEDULE.format(made="torch.linspace(0.0, 1.0, steps + 1)")
    assert is_told(f"{program}\n{more}\n")
    assert is_told(program.replace("_schedule", "schedule"))  # Whoever imports the file may.


@pytest.mark.parametrize(
    "offset", ["1e-6", "torch.tensor(1e-6)", "torch.zeros(())", "torch.eye(3, device=a.device)"]
)
def test_a_single_number_goes_where_the_matrix_is(offset: str) -> None:
    assert is_told(DISTANCE.format(offset=offset))


def test_what_is_reckoned_with_noise_of_the_cpu_is_there_already() -> None:
    assert not is_told(SEARCH.format(drawn="torch.randn(10, mean.shape[0])"), "MPS304")


@pytest.mark.parametrize(
    ("user", "is_told"),
    [
        ("from schedule import _schedule\n\nprint(_schedule(load(), 0.0))\n", True),
        ("from schedule import sigmas\n\nprint(sigmas(10, 'mps'))\n", False),
    ],
)
def test_a_private_function_that_another_file_takes_all_the_same_is_told(
    user: str, is_told: bool, tmp_path: Path
) -> None:
    program = SCHEDULE.format(made="torch.linspace(0.0, 1.0, steps + 1)")
    for name, text in {"README.md": "x", "schedule.py": program, "run.py": user}.items():
        (tmp_path / name).write_text(text)
    settings = Settings(root=str(tmp_path), select=("MPS501",))
    source = SourceFile(str(tmp_path / "schedule.py"), program.encode())
    assert bool(list(lint(source, settings, elsewhere=Neighbours(settings)))) is is_told
