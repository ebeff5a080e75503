"""A module of another file that NumPy's numbers make float64 keeps a choice of MPS in doubt, though
no word of float64 stands in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

FLOWS = """\
import numpy as np
import torch
from torch import nn


class Flow(nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        {kept}
"""
MAIN = """\
import torch
from flows import Flow

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(Flow().to(device))
"""


@pytest.mark.parametrize(
    ("kept", "level"),
    [
        ("self.p = nn.Parameter(torch.tensor(np.log(p)))", "unsafe"),
        ('self.register_buffer("p", torch.tensor(np.log(p) - np.log(2.0)))', "unsafe"),
        ("self.p = nn.Parameter(torch.tensor(np.log(p)).float())", "safe"),
        ("self.p = nn.Parameter(torch.ones(int(np.prod((2, 3)))))", "safe"),
    ],
)
def test_what_a_module_keeps_decides(cli: Cli, project: Path, kept: str, level: str) -> None:
    (project / "README.md").write_text("")
    (project / "flows.py").write_text(FLOWS.format(kept=kept))
    (project / "main.py").write_text(MAIN)
    (found,) = json.loads(cli("check", "--output-format", "json", "main.py").out)
    assert found["fix"]["applicability"] == level
