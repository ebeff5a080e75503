"""What a forward pass of another file runs is as hot as what stands in a `forward`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_HELPERS = """import torch


def inner(x):
    return torch.arange(x.size(1)).to(x.device)


def places(x):
    return inner(x) + 1


def prepare(x):
    return torch.arange(x.size(0)).to(x.device)
"""
_MODEL = """import torch
{imported}


class Model(torch.nn.Module):
    def forward(self, x):
        {before}
        return x + {called}(x)


def first(x):
    return prepare(x)
"""


@pytest.mark.parametrize(
    ("imported", "called", "before", "rows"),
    [
        ("from helpers import places, prepare", "places", "pass", [5]),
        ("from helpers import places as at, prepare", "at", "pass", [5]),
        ("import helpers", "helpers.places", "pass", [5]),
        ("from others import places", "places", "pass", []),
        ("from helpers import places", "places", "if not self.training: x = places(x)", [5]),
    ],
)
def test_a_function_that_a_forward_pass_calls_is_hot(
    cli: Cli,
    project: Path,
    imported: str,
    called: str,
    before: str,
    rows: list[int],
) -> None:
    (project / "pyproject.toml").write_text("")
    (project / "helpers.py").write_text(_HELPERS)
    (project / "others.py").write_text("def places(x):\n    return x\n")
    (project / "model.py").write_text(
        _MODEL.format(imported=imported, called=called, before=before)
    )

    ran = cli("check", "--no-cache", "--select", "MPS310", "--output-format", "json", "helpers.py")

    assert [item["location"]["row"] for item in json.loads(ran.out)] == rows
