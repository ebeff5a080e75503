"""What a Mac is said to get from a device that is chosen or written out."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "rules"
DEFAULTS = FIXTURES / "device-chain-missing-mps" / "alarm_on_by_default.py"
FALLS = "a Mac's GPU is never used: this selection falls to the CPU"
SWITCHED = "a Mac's GPU is never used: a switch chooses CUDA, which no Mac has, or the CPU"


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


def test_the_line_that_a_mac_ends_up_in_is_named_where_it_is_another() -> None:
    program = """import torch
if torch.cuda.is_available():
    device = "cuda"
else:
    device = "cpu"
run(device)
"""
    (finding,) = lint(SourceFile("program.py", program.encode()), Settings(select=("MPS103",)))
    assert finding.row == 2
    assert finding.message == f"{FALLS} (line 5)"


def test_a_switch_that_chooses_cuda_where_nobody_says_anything_breaks_and_no_other_does() -> None:
    source = SourceFile(str(DEFAULTS), DEFAULTS.read_bytes())
    found = lint(source, Settings(select=("MPS103",)))
    marked = {
        row: line.split(" # ")[1]
        for row, line in enumerate(source.text.splitlines(), 1)
        if " # MPS103" in line
    }
    assert {one.row: one.severity.label for one in found} == marked
    said = {one.severity.label: one.message for one in found}
    assert "never used" in said["ignores"]
    assert "raises AssertionError" in said["breaks"]
    assert "falls to the CPU" not in said["breaks"]


def test_what_is_only_loaded_by_default_raises_another_error() -> None:
    program = """
import torch
def load(path, use_cuda=True):
    place = "cuda" if use_cuda else "cpu"
    return torch.load(path, map_location=place)
"""
    (finding,) = lint(SourceFile("program.py", program.encode()), Settings(select=("MPS103",)))
    assert "loading to it raises RuntimeError" in finding.message


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
