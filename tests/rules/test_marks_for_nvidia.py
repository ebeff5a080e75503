"""Marks that only those come to who use NVIDIA's tools are told of where somebody asks for that."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli

_TRAINING = """import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--nsight", action="store_true")
parser.add_argument("--quiet", action="store_false")
args = parser.parse_args()


def step(model, x):
    {marked}
    return model(x)


step(torch.nn.Linear(3, 3), torch.rand(3))
"""
_MARK = 'torch.cuda.nvtx.range_push("step")'


def _is_told(cli: Cli, project: Path, text: str, *options: str) -> bool:
    (project / "training.py").write_text(text)
    return "MPS209" in cli("check", "--no-cache", *options, "training.py").out


@pytest.mark.parametrize(
    ("marked", "told"),
    [
        (_MARK, True),
        (f"if args.quiet:\n        {_MARK}", True),
        (f"if args.nsight:\n        {_MARK}", False),
        (f"if args.nsight and x.shape[0]:\n        {_MARK}", False),
        (f"torch.cuda.current_stream()\n    {_MARK}", False),
        (f"if x.is_cuda:\n        torch.cuda.current_stream()\n    {_MARK}", True),
    ],
)
def test_marks_are_told_where_everybody_comes_to_them(
    cli: Cli, project: Path, marked: str, told: bool
) -> None:
    text = _TRAINING.format(marked=marked)
    assert _is_told(cli, project, text) is told
    assert _is_told(cli, project, text, "--select", "MPS209")
