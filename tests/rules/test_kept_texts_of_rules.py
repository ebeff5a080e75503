"""A test that gives a device as a text, and finds that text again, has placed nothing by it."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

TEST = """
import torch
from loaders import read


def {name}():
    overrides = {{"device": "cuda", "dtype": "float16"}}
    config = read("path", device="cuda", overrides=overrides)
    {then}
"""
SAME = 'assert config["device"] == "cuda"'


@pytest.mark.parametrize(
    ("name", "then", "told"),
    [
        ("test_overrides", SAME, False),
        ("test_overrides", 'assert config.device == "cuda"', False),
        ("test_overrides", SAME + '\n    assert config["dtype"] == "float16"', False),
        ("test_overrides", 'assert config["device"] == torch.device("cuda")', True),
        ("test_overrides", 'assert config["dtype"] == "float16"', True),
        ("test_overrides", SAME + "\n    run(config)", True),
        ("overrides", SAME, True),
    ],
)
def test_a_text_that_is_found_again_has_placed_nothing(name: str, then: str, told: bool) -> None:
    text = TEST.format(name=name, then=then).encode()
    found = lint(SourceFile("checks.py", text), Settings(select=("MPS101",)))
    assert bool(found) is told
