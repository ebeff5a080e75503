"""What a Mac is said to get from a device that is chosen or written out."""

from __future__ import annotations

import pytest

from mpslint.linter import lint
from mpslint.settings import Settings
from mpslint.source import SourceFile

FALLS = "a Mac's GPU is never used: this selection falls to the CPU (line 3)"
SWITCHED = "a Mac's GPU is never used: a switch chooses CUDA, which no Mac has, or the CPU (line 3)"


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ("torch.cuda.is_available()", FALLS),
        ("args.cuda and torch.cuda.is_available()", FALLS),
        ("args.cuda", SWITCHED),
        ("not args.no_cuda", SWITCHED),
    ],
)
def test_a_switch_that_nobody_compares_with_the_machine_may_choose_cuda(
    test: str, said: str
) -> None:
    program = f'import torch\nargs = parse()\ndevice = "cuda" if {test} else "cpu"\nrun(device)\n'
    (finding,) = lint(SourceFile("program.py", program.encode()), Settings(select=("MPS103",)))
    assert finding.message == said


@pytest.mark.parametrize(
    ("uses", "error"),
    [
        ("torch.load(path, map_location=loc)", "RuntimeError"),
        ("torch.load(path, loc)", "RuntimeError"),
        ("torch.load(path, map_location=loc); torch.zeros(3, device=loc)", "AssertionError"),
        ("net.to(loc)", "AssertionError"),
    ],
)
def test_what_is_only_loaded_to_a_device_raises_another_error(uses: str, error: str) -> None:
    program = f'import torch\nloc = f"cuda:{{index}}"\n{uses}\n'
    (finding,) = lint(SourceFile("program.py", program.encode()), Settings(select=("MPS101",)))
    assert f"raises {error}" in finding.message
