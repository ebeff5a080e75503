"""A module and what it is called with are on one device: what meets a module goes where it is."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.fixing.fixer import fix_source
from mpslint.model import Applicability
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

PROGRAM = """
import torch
from torch import nn

def run(config, batch, sample):
    net = nn.Linear(4, 2).to(config.run.device)
    net = nn.DataParallel(net)
    batch = batch.cuda()
    return {use}
"""


def fixed(text: str) -> str:
    return fix_source(SourceFile("program.py", text.encode()), Settings()).text


@pytest.mark.parametrize(
    ("use", "moved"),
    [
        ("net(batch)", "batch"),
        ("net(batch.float())", "batch.float()"),
        ("sample(batch, net, 3)", "batch"),
    ],
)
def test_what_the_module_is_called_with_goes_where_the_function_sent_it(
    use: str, moved: str
) -> None:
    assert f"batch = {moved}.to(config.run.device)\n" in fixed(PROGRAM.format(use=use))


@pytest.mark.parametrize("use", ["net, batch", "net(sample), sample(batch)"])
def test_what_does_not_meet_the_module_may_belong_elsewhere(use: str) -> None:
    text = PROGRAM.format(use=use)
    assert fixed(text) == text


def test_a_module_that_the_program_keeps_on_the_cpu_by_default_tells_nothing() -> None:
    text = PROGRAM.format(use="net(batch)").replace("config.run.device", '"cpu"')
    assert 'batch.to("cpu")' not in fixed(text)


@pytest.mark.parametrize(
    ("use", "level"), [("net(batch)", Applicability.SAFE), ("net, batch", Applicability.UNSAFE)]
)
def test_check_promises_what_is_fixed(use: str, level: Applicability) -> None:
    found = lint(SourceFile("program.py", PROGRAM.format(use=use).encode()), Settings())
    assert [one.applicability for one in found] == [level]
