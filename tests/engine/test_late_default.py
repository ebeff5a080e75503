"""A default of a module that others import asks for a device when the function is called."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.project.project import Project
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

FILES = Path(__file__).resolve().parents[2] / "fixtures" / "engine" / "late_default"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    shutil.copytree(FILES, tmp_path / "project")
    return tmp_path / "project" / "model.py"


def fixed(path: Path, *, unsafe: bool = False) -> str:
    settings = Settings()
    source = SourceFile(str(path), path.read_bytes())
    return fix_source(source, settings, unsafe=unsafe, elsewhere=Project(settings)).text


def test_a_default_is_found_out_when_the_function_is_called(model: Path) -> None:
    text = fixed(model)
    assert "def __init__(self, size, device=None):\n" in text
    after_docstring = text.partition('"""Detects what is of this size."""\n')[2]
    assert after_docstring.startswith(
        "        if device is None:\n            device = get_device()\n        self.net = "
    )


def test_what_is_fixed_is_left_as_it_is(model: Path) -> None:
    text = fixed(model)
    model.write_text(text)
    assert fixed(model) == text


def test_a_default_that_can_only_be_found_out_at_import_is_not_safe(model: Path) -> None:
    line = 'def in_one_line(x, device="cuda"):'
    assert line in fixed(model)
    assert line not in fixed(model, unsafe=True)


def test_two_defaults_that_are_found_out_by_themselves_share_one_helper(tmp_path: Path) -> None:
    # One wants a device, the other keeps its text: they are fixed one after the other.
    (tmp_path / "parts.py").write_text(
        "import torch\nfrom torch import nn\n\n\n"
        "def make(size, device='cuda'):\n    return nn.Linear(size, 1).to(device)\n\n\n"
        "class Holder:\n    def __init__(self, size, device='cuda'):\n"
        "        self.net = nn.Linear(size, 1).to(device)\n        self.device = device\n"
    )
    (tmp_path / "main.py").write_text("from parts import Holder, make\n\nmake(2), Holder(2)\n")
    text = fixed(tmp_path / "parts.py")
    assert text.count("def ") == 3  # make, __init__ and one helper
    assert text.count("= get_device()") + text.count("= str(get_device())") == 2
