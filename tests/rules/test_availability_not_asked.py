"""A question that is never asked is told once, and is meant as a question."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.fixing.fixer import fix_source
from mpslint.model import Severity
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

CHOSEN = """\
import torch
device = "cuda" if torch.cuda.is_available{asked} else "cpu"
x = torch.ones(3).to(device)
"""
SKIPPED = """\
import pytest
import torch

@pytest.mark.skipif(not torch.cuda.is_available{asked}, reason="no GPU")
def test_sum():
    assert torch.ones(3, device="cuda").sum() == 3
"""


def _told(text: str) -> list[str]:
    return [finding.code for finding in lint(SourceFile("suite.py", text.encode()), Settings())]


@pytest.mark.parametrize(("asked", "told"), [("", ["MPS103", "MPS119"]), ("()", ["MPS103"])])
def test_the_choice_by_it_is_told_as_if_it_were_asked(asked: str, told: list[str]) -> None:
    assert _told(CHOSEN.format(asked=asked)) == told


@pytest.mark.parametrize(("asked", "told"), [("", ["MPS119"]), ("()", [])])
def test_a_test_that_means_to_skip_is_told_of_its_mark_alone(asked: str, told: list[str]) -> None:
    assert _told(SKIPPED.format(asked=asked)) == told


def test_the_fixes_of_both_ask_once() -> None:
    source = SourceFile("train.py", CHOSEN.format(asked="").encode())
    text = fix_source(source, Settings(), unsafe=True).text
    assert text.count("torch.cuda.is_available()") == 1
    assert text.count("is_available") == 2


@pytest.mark.parametrize("refusal", ["assert {}", "if not {}:\n    raise SystemExit"])
@pytest.mark.parametrize(("asked", "told"), [("", "MPS119"), ("()", "MPS118")])
def test_a_refusal_that_never_asks_turns_nobody_away(refusal: str, asked: str, told: str) -> None:
    text = f"import torch\n{refusal.format('torch.cuda.is_available' + asked)}\n"
    assert _told(text) == [told]


def test_what_follows_a_refusal_that_never_asks_raises_there() -> None:
    text = "import torch\nassert torch.cuda.is_available\nx = torch.ones(3).cuda()\n"
    found = {
        finding.code: finding for finding in lint(SourceFile("a.py", text.encode()), Settings())
    }
    assert found["MPS102"].severity is Severity.BREAKS
