"""A refusal says where the run ends, and a type by CUDA where it is used."""

from __future__ import annotations

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile


def related(text: str, code: str) -> list[int]:
    """The rows of the places that belong to the one finding of a rule in a text."""
    (finding,) = lint(SourceFile.from_text(text, "a.py"), Settings(select=(code,)))
    return [label.row for label in finding.labels]


def test_a_device_that_a_later_test_refuses_names_the_line_that_raises() -> None:
    text = """\
import torch

def main(model):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu":
        raise ValueError("no GPU")
    return model.to(device)
"""
    assert 6 in related(text, "MPS118")


def test_a_type_by_cuda_names_each_line_that_makes_tensors_of_it() -> None:
    text = """\
import torch

cuda = torch.cuda.is_available()
FloatTensor = torch.cuda.FloatTensor if cuda else torch.FloatTensor

def read(x):
    return FloatTensor(x), x.type(FloatTensor)

def make():
    return FloatTensor(3)
"""
    assert related(text, "MPS111")[1:] == [7, 10]
