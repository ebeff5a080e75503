"""A refusal to run without CUDA under a further condition speaks of what was asked for, and is told
to those who ask for it."""

from __future__ import annotations

import pytest

from mpslint.linter import lint
from mpslint.settings import Settings
from mpslint.source import SourceFile

_ASKED = "not torch.cuda.is_available()"
_PROGRAM = """
import torch


def main(fp16, path, arg):
    {}
        raise RuntimeError("no CUDA")
    return torch.load(path, map_location="cpu")
"""


def _found(line: str, settings: Settings) -> list[str]:
    source = SourceFile("program.py", _PROGRAM.format(line).encode())
    return [finding.code for finding in lint(source, settings) if finding.code == "MPS118"]


@pytest.mark.parametrize("line", [f"if fp16 and {_ASKED}:", f"if fp16:\n      if {_ASKED}:"])
def test_a_feature_that_needs_cuda_is_told_by_name_alone(line: str) -> None:
    assert _found(line, Settings()) == []
    assert _found(line, Settings(select=("MPS118",))) == ["MPS118"]


def test_a_program_that_needs_cuda_is_told() -> None:
    assert _found(f"if {_ASKED}:", Settings()) == ["MPS118"]


def test_a_choice_of_a_device_is_no_further_condition() -> None:
    line = f"if arg != 'cpu':\n      index = arg.split(':')\n      if {_ASKED} or len(index) > 2:"
    assert _found(line, Settings()) == ["MPS118"]
