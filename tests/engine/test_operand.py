"""What goes where an operand is brings nothing to MPS, and waits for nothing that does."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import Cli

from mpslint.checking.linter import lint
from mpslint.fixing.fixer import fix_source
from mpslint.model import Applicability
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

FILE = Path(__file__).resolve().parents[2] / "fixtures" / "engine" / "own_device" / "masked.py"


@pytest.fixture
def source() -> SourceFile:
    return SourceFile(str(FILE), FILE.read_bytes())


def test_a_file_that_cannot_go_to_mps_still_follows_its_operands(source: SourceFile) -> None:
    text = fix_source(source, Settings()).text
    assert "    mask = mask.to(x.device)\n" in text
    assert '"mps"' not in text


def test_check_says_so(source: SourceFile) -> None:
    levels = {one.row: one.applicability for one in lint(source, Settings())}
    assert levels[10] is Applicability.SAFE
    assert levels[3] is None  # It is known to end there.


def test_a_file_that_waits_for_another_is_fixed_in_the_same_run(cli: Cli, project: Path) -> None:
    shutil.copytree(FILE.parents[1] / "follows", project, dirs_exist_ok=True)
    cli("fix", "--no-verify", ".")
    assert "mask = mask.to(x.device)" in (project / "parts.py").read_text()
    assert '"mps"' in (project / "program.py").read_text()
    texts = {path: path.read_bytes() for path in project.glob("*.py")}
    cli("fix", "--no-verify", ".")
    assert {path: path.read_bytes() for path in project.glob("*.py")} == texts


OLD_TYPE = """\
import torch


def padded(x):
    pads = torch.zeros(2, 3)
    if isinstance(x.data, torch.cuda.FloatTensor):
        pads = pads.cuda()
    return torch.cat([x.data, pads], 1)


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(padded(torch.ones(2, 3).to(device)))
"""


def test_a_type_that_only_cuda_has_asks_where_a_tensor_is() -> None:
    source = SourceFile.from_text(OLD_TYPE)
    messages = [one.message for one in lint(source, Settings())]
    assert any("on MPS this stays where it is" in message for message in messages)
    text = fix_source(source, Settings()).text
    assert "    pads = torch.zeros(2, 3)\n    pads = pads.to(x.device)\n    return" in text


def test_a_type_that_the_cpu_has_says_nothing_of_that() -> None:
    source = SourceFile.from_text(OLD_TYPE.replace("torch.cuda.Float", "torch.Float"))
    assert ".to(x.device)" not in fix_source(source, Settings()).text.split("pads = pads")[0]
    assert "isinstance(" in fix_source(source, Settings()).text
