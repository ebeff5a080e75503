"""What `check` promises (`[*]`) is what `fix` can do."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

RULES = Path(__file__).resolve().parents[2] / "fixtures" / "rules"
FOLDERS = {
    "cuda-method-call": "MPS102",
    "cuda-required": "MPS118",
    "cuda-device-query": "MPS206",
    "hardcoded-cuda-device": "MPS101",
    "pin-memory-unconditional": "MPS608",
}


def files() -> list[object]:
    return [
        pytest.param(path, code, id=f"{folder}/{path.name}")
        for folder, code in FOLDERS.items()
        for path in sorted((RULES / folder).glob("*.py"))
    ]


@pytest.mark.parametrize(("path", "code"), files())
def test_no_fix_is_kept_from_the_user(path: Path, code: str) -> None:
    source = SourceFile(str(path), path.read_bytes())
    for finding in lint(source, Settings(select=(code,))):
        promised = finding.applicability
        assert finding.fix is None or promised is not None, finding
        assert finding.applicability is None or finding.applicability <= promised, finding


@pytest.mark.parametrize("name", ["not_opened.py", "arms_not.py", "several_gpus.py"])
def test_moves_that_must_stay_are_not_promised_a_fix(name: str) -> None:
    path = RULES / "cuda-method-call" / name
    source = SourceFile(str(path), path.read_bytes())
    findings = lint(source, Settings(select=("MPS102",)))
    for finding in findings:
        promised = finding.applicability
        assert promised is None or finding.fix is not None, finding


NUMBERED = """\
import torch


def main(args):
    args.device = torch.device("cuda", args.gpu)
    return torch.nn.Linear(2, 2).to(args.device)
"""


def test_a_device_whose_number_stands_beside_it_is_promised_what_its_fix_is() -> None:
    source = SourceFile("main.py", NUMBERED.encode())
    (finding,) = lint(source, Settings(select=("MPS101",)))
    assert (finding.applicability is None) is (finding.fix is None)
