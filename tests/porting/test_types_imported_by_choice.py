"""Where a type is CUDA's by an import below a test, what is made with it stays on the CPU of a Mac:
a model that meets it is not sent to MPS alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

TYPES = """if torch.cuda.is_available():
    from torch.cuda import FloatTensor
else:
    from torch import FloatTensor


def collate(rows):
    return FloatTensor(rows)
"""
TRAINS = """
device = "cuda" if torch.cuda.is_available() else "cpu"
model = torch.nn.Linear(3, 1).to(device)
for x in DataLoader([[1.0, 2.0, 3.0]] * 8, 2, collate_fn=collate):
    model(x).sum().backward()
"""
HEAD = "import torch\nfrom torch.utils.data import DataLoader\n"


@pytest.mark.parametrize("apart", [True, False])
def test_a_model_stays_beside_its_batches(cli: Cli, project: Path, apart: bool) -> None:
    (project / "parts.py").write_text(f"import torch\n\n{TYPES}" if apart else "")
    middle = "from parts import collate\n" if apart else f"\n{TYPES}"
    (project / "train.py").write_text(f"{HEAD}{middle}{TRAINS}")
    output = cli("check", "--no-cache", "--output-format", "json", ".").out
    found = {one["code"]: one for one in json.loads(output)}
    assert found["MPS103"]["fix"]["applicability"] == "unsafe"
    assert found["MPS111"]["severity"] == "ignores"


def test_a_model_goes_with_batches_that_are_moved(cli: Cli, project: Path) -> None:
    moved = TRAINS.replace("collate_fn=collate", "collate_fn=torch.tensor").replace(
        "model(x)", "model(x.to(device))"
    )
    (project / "train.py").write_text(HEAD + moved)
    output = cli("check", "--no-cache", "--output-format", "json", ".").out
    (found,) = json.loads(output)
    assert found["fix"]["applicability"] == "safe"
