"""A choice that is written twice is one choice: it changes as a whole, or stays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

PARTS = """import torch


def train(net, device=None):
    if device == "cpu":
        return net.cpu()
    return net.cuda()


def test(net, device=None):
    return net.to(device)
"""
PROGRAM = """import torch
from parts import test, train


def main(args, net):
    train(net{first})
    test(net, device="cpu" if args.cpu else "cuda")


def other(args, net):
    train(net{second})
"""
SAME = ', device="cpu" if args.cpu else "cuda"'


def test_one_that_is_given_where_it_stays_keeps_the_other(cli: Cli, project: Path) -> None:
    (found,) = _told(cli, project, first=SAME)
    assert found["fix"] is None
    assert "line 6" in found["no_fix"]


@pytest.mark.parametrize("first", ["", ', device="cuda"', SAME.replace("args.cpu", "args.host")])
def test_another_choice_keeps_nothing(cli: Cli, project: Path, first: str) -> None:
    assert _told(cli, project, first=first)[-1]["fix"] is not None


def test_another_function_chooses_for_itself(cli: Cli, project: Path) -> None:
    assert _told(cli, project, second=SAME)[-1]["fix"] is not None


def _told(cli: Cli, project: Path, first: str = "", second: str = "") -> list[dict[str, str]]:
    (project / "parts.py").write_text(PARTS)
    (project / "program.py").write_text(PROGRAM.format(first=first, second=second))
    output = cli("check", "--no-cache", "--output-format", "json", "program.py").out
    return [one for one in json.loads(output) if one["code"] == "MPS101"]
