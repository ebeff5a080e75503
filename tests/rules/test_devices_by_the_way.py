"""Devices and functions of CUDA that come to their use by way of something else."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

CHOICE = '"cuda" if torch.cuda.is_available() else "cpu"'
PORTABLE = f'"mps" if torch.backends.mps.is_available() else {CHOICE}'


def codes(text: str, settings: Settings | None = None) -> list[str]:
    found = lint(SourceFile("program.py", text.encode()), settings or Settings())
    return [one.code for one in found]


FIELD = """\
from dataclasses import dataclass, field

import torch
from pydantic import BaseModel, Field


@dataclass
class Config:
    device: str = {}(default_factory=lambda: {})


print(torch.zeros(3, device=Config().device))
"""


@pytest.mark.parametrize("field", ["field", "Field"])
@pytest.mark.parametrize("choice", [CHOICE, f"torch.device({CHOICE})"])
def test_a_factory_of_a_field_that_selects_is_a_selection(field: str, choice: str) -> None:
    assert codes(FIELD.format(field, choice)) == ["MPS103"]


@pytest.mark.parametrize("choice", [PORTABLE, '"cpu"'])
def test_a_factory_that_leaves_nothing_out_is_silent(choice: str) -> None:
    assert not codes(FIELD.format("field", choice))


BY_THE_WAY = {
    "a default of keywords": """\
import torch

def grid(n, **kw):
    kw.setdefault("device", {})
    return torch.zeros(n, **kw)

print(grid(3))
""",
    "a pair that is spread": """\
import torch

placement = ({}, torch.float16)
net = torch.nn.Linear(2, 2).to(*placement)
""",
    "a field of attrs": """\
import attr
import torch

@attr.s(auto_attribs=True)
class Options:
    device: str = attr.ib(default={})

print(torch.zeros(2, device=Options().device))
""",
    "a configuration under another": """\
import torch
from omegaconf import OmegaConf

base = OmegaConf.create({{"device": {}}})
cfg = OmegaConf.merge(base, OmegaConf.from_cli())
print(torch.zeros(2, device=cfg.device))
""",
}


@pytest.mark.parametrize("way", BY_THE_WAY)
def test_a_device_that_comes_by_the_way_is_told(way: str) -> None:
    assert codes(BY_THE_WAY[way].format('"cuda"')) == ["MPS101"]


@pytest.mark.parametrize("way", BY_THE_WAY)
@pytest.mark.parametrize("device", ['"cpu"', f"({PORTABLE})"])
def test_one_that_every_machine_has_is_silent(way: str, device: str) -> None:
    assert not codes(BY_THE_WAY[way].format(device))


def test_what_another_mapping_is_given_says_nothing_of_this_one() -> None:
    text = BY_THE_WAY["a default of keywords"].replace("kw.setdefault", "notes.setdefault")
    assert not codes(text.format('"cuda"').replace("import torch\n", "import torch\nnotes = {}\n"))


KEPT = """\
import torch

sync = {}


def bench(run):
    {}
    run()


bench(lambda: torch.ones(2))
"""


@pytest.mark.parametrize("function", ["torch.cuda.synchronize", "torch.cuda.current_device"])
def test_a_function_of_cuda_that_is_kept_under_a_name_is_told_in_functions(function: str) -> None:
    assert codes(KEPT.format(function, "sync()"))


@pytest.mark.parametrize(
    ("function", "call"),
    [
        ("torch.cuda.synchronize", "if torch.cuda.is_available():\n        sync()"),
        ("torch.cuda.is_available", "sync()"),
    ],
)
def test_one_that_is_guarded_or_raises_nothing_is_silent(function: str, call: str) -> None:
    text = KEPT.format(function, call)
    found = lint(SourceFile("program.py", text.encode()), Settings())
    assert not any("raises" in one.message for one in found)
