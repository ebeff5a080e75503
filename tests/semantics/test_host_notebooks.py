"""What a notebook computes that names no device is on the CPU; nobody imports it from elsewhere."""

from __future__ import annotations

import json

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.notebook.source import NotebookSource
from mpslint.sources.source import SourceFile

MODEL = """\
class Halved(nn.Module):
    def forward(self, x):
        x = self.layer(x)
        total = 0.0
        for row in x:
            total += row.sum().item()
        return x / total
"""


def told(*cells: str, select: str = "MPS303") -> int:
    texts = ("import torch\nfrom torch import nn\n", *cells)
    source = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": text.splitlines(True)}
        for text in texts
    ]
    book = {"cells": source, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    settings = Settings(select=(select,))
    return len(lint(NotebookSource("a.ipynb", json.dumps(book).encode()), settings))


@pytest.mark.parametrize(
    "more", ["", "import numpy as np\nimport math\nfrom IPython import display\n"]
)
def test_its_forward_passes_wait_for_nothing(more: str) -> None:
    assert told(more, MODEL, "net = Halved()\nprint(net(torch.rand(2, 3)))\n") == 0


@pytest.mark.parametrize(
    "more",
    [
        'device = torch.device("mps")\nnet = Halved().to(device)\n',
        'torch.set_default_device("mps")\n',
        "import pytorch_lightning as pl\n",
        "from helpers import fit\nfit(Halved())\n",
        "%run helpers.py\n",
    ],
)
def test_they_do_where_it_may_be_moved(more: str) -> None:
    assert told(MODEL, more) == 1


def test_a_module_that_others_import_may_be_moved_by_them() -> None:
    text = f"import torch\nfrom torch import nn\n\n\n{MODEL}"
    settings = Settings(select=("MPS303",))
    assert len(lint(SourceFile("model.py", text.encode()), settings)) == 1


SOLVED = """\
def solved(a, b):
    return torch.linalg.lstsq(a, b).solution
"""


def lacking(*cells: str) -> int:
    return told(SOLVED, *cells, select="MPS501")


def test_what_mps_lacks_is_computed_on_the_cpu_there() -> None:
    assert lacking("print(solved(torch.rand(3, 2), torch.rand(3, 1)))\n") == 0


def test_what_mps_lacks_is_told_of_a_notebook_that_moves_something() -> None:
    assert lacking("device = 'mps'\n", "print(solved(a.to(device), b.to(device)))\n") == 1
