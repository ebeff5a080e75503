"""What is loaded to the CPU and meets tensors of the device keeps a program from going to MPS."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.fixing.fixer import fix_source
from mpslint.model import Applicability
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

PROGRAM = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = torch.nn.Linear(4, 2).to(device)
batch = torch.ones(3, 4).to(device)
labels = torch.tensor([0, 1, 2]).to(device)
LOAD
USE
"""
BY_MACHINE = """\
if torch.cuda.is_available():
    state = torch.load("stats.pt")
else:
    state = torch.load("stats.pt", map_location="cpu")"""
BY_CHOICE = 'state = torch.load("a.pt", map_location=None if torch.cuda.is_available() else "cpu")'
OPERANDS = [
    'print(net(batch) - state["mean"])',
    'mean, std = state["mean"], state["std"]\nprint(net((batch - mean) / std))',
    'print(torch.cdist(net(batch), state.get("centres").unsqueeze(0)))',
    'print(net(state["table"][labels]))',
    'print([label in state["known"] for label in labels])',
    'print(net(state["rows"].float().clone()))',
    'for row in state["rows"]:\n    print(net(row))',
]


def written(load: str, use: str) -> str:
    return PROGRAM.replace("LOAD", load).replace("USE", use)


def fixed(text: str) -> str:
    return fix_source(SourceFile("program.py", text.encode()), Settings()).text


@pytest.mark.parametrize("load", [BY_MACHINE, BY_CHOICE])
@pytest.mark.parametrize("use", OPERANDS)
def test_a_program_stays_whose_operands_would_be_left_on_the_cpu(load: str, use: str) -> None:
    assert fixed(written(load, use)) == written(load, use)


@pytest.mark.parametrize("use", OPERANDS)
def test_it_is_ported_where_these_go_to_the_device(use: str) -> None:
    load = 'state = torch.load("stats.pt", map_location=device)'
    assert "mps" in fixed(written(load, use))


@pytest.mark.parametrize(
    "use",
    [
        'print(net(batch) - state["mean"].to(device))',
        'print(net(batch) * state["best_acc"])',
        'net.load_state_dict(state["net"])\nprint(net(batch))',
        'print(net(batch), state["names"][0], "a" in state["names"])',
    ],
)
def test_what_is_moved_copied_or_a_number_keeps_nothing_from_it(use: str) -> None:
    assert "mps" in fixed(written(BY_CHOICE, use))


def test_what_meets_tensors_of_cuda_as_it_is_loaded_is_a_number() -> None:
    load = 'state = torch.load("stats.pt", map_location="cpu")'
    assert "mps" in fixed(written(load, 'print(net(batch) * state["scale"])'))


def test_the_reason_names_the_place_where_they_meet() -> None:
    text = written(BY_CHOICE, 'print(net(batch - state["mean"]))')
    found = lint(SourceFile("program.py", text.encode()), Settings())
    assert all(one.applicability is not Applicability.SAFE for one in found)
    assert ["line 8" in one.reason for one in found if one.code == "MPS103"] == [True]


def test_what_is_asked_for_its_shape_alone_may_be_anywhere() -> None:
    load = "mean = torch.zeros(1, 4)"
    assert "mps" in fixed(written(load, "print(net(batch - mean.expand_as(batch).to(device)))"))


def test_what_was_saved_from_the_cpu_is_there_when_it_is_read_back() -> None:
    load = (
        'torch.save({"table": torch.ones(3, 4), "net": net.state_dict()}, "a.pt")\n'
        'state = torch.load("a.pt")'
    )
    use = 'net.load_state_dict(state["net"])\nprint(net(state["table"][labels]))'
    assert fixed(written(load, use)) == written(load, use)
