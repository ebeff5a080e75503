"""A notebook that installs wheels for CUDA is for CUDA, and may import what only CUDA has."""

from __future__ import annotations

import json

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.opening import open_source

IMPORT = "import torch\nfrom apex import amp\n"


def codes(*cells: str) -> list[str]:
    notebook = {
        "cells": [
            {
                "cell_type": "code",
                "source": cell.splitlines(keepends=True),
                "metadata": {},
                "outputs": [],
                "execution_count": None,
            }
            for cell in cells
        ],
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    source = open_source("a.ipynb", json.dumps(notebook).encode())
    return [finding.code for finding in lint(source, Settings(select=("MPS213",)))]


@pytest.mark.parametrize(
    "installing",
    [
        "!pip install torch==1.8.0+cu101 -f https://download.pytorch.org/whl/torch_stable.html",
        "# apex\n%pip install apex -f https://example.org/wheels/py37_cu101_pyt180/download.html",
        'import torch\nprint(f\'_cu{torch.version.cuda.replace(".", "")}\')',
    ],
)
def test_wheels_for_cuda_say_what_a_notebook_is_for(installing: str) -> None:
    assert codes(installing, IMPORT) == []


@pytest.mark.parametrize("cell", ["!pip install torch", "print('+cu101')", "import torch"])
def test_any_other_imports_what_a_mac_lacks(cell: str) -> None:
    assert codes(cell, IMPORT) == ["MPS213"]
