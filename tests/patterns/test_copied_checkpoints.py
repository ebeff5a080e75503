"""A checkpoint that is only copied into what is there is loaded on the CPU, without a question."""

from __future__ import annotations

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

TRAINER = """\
import torch
from packaging import version


class Trainer:
    def __init__(self, model):
        self.model = model.cuda()

    def load(self, path):
        package = torch.load(path)
        self.model.load_state_dict(package["model"])
        USE
"""


def fixed(use: str) -> str:
    source = SourceFile("trainer.py", TRAINER.replace("USE", use).encode())
    return fix_source(source, Settings()).text


@pytest.mark.parametrize(
    "use",
    [
        "pass",
        'self.step.copy_(package["count"])',
        'old = version.parse(package["version"]) < version.parse("1.0")',
        "print(f\"saved by {package['version']}\")",
    ],
)
def test_what_is_copied_or_read_as_a_text_may_be_loaded_on_the_cpu(use: str) -> None:
    assert 'torch.load(path, map_location="cpu")' in fixed(use)


@pytest.mark.parametrize(
    "use",
    [
        'package["count"].copy_(self.step)',
        'self.step = package["count"] + self.step',
        'self.run(package["version"])',
    ],
)
def test_what_is_computed_with_stays_where_it_was_on_cuda(use: str) -> None:
    text = fixed(use)
    assert 'torch.load(path, map_location="cpu")' not in text
    assert "map_location=" in text
