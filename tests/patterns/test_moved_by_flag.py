"""A model stays where the inputs of its class stay, which a function of another file moves by a
flag for CUDA."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

MOVES = """import torch


def placed(tensor, cuda):
    return tensor.cuda() if cuda else tensor


def kept(tensor, cuda):
    return tensor.long() if cuda else tensor
"""
RUNNER = """import torch
{imports}


class Runner:
    def __init__(self, net, args):
        self.net = net.cuda() if args.cuda else net
        self.use_cuda = args.cuda and torch.cuda.is_available()

    def step(self, x):
        return self.net({call})
"""
CALL = "placed(x, self.use_cuda)"


@pytest.mark.parametrize(
    ("imports", "call"),
    [
        ("from parts import placed", CALL),
        ("from parts import *", CALL),
        ("from parts import placed", "placed(x, cuda=self.use_cuda)"),
        ("from parts import placed", "placed(x, torch.cuda.is_available())"),
        ("from parts import placed as put", "put(x, self.use_cuda)"),
        ("import parts", "parts.placed(x, self.use_cuda)"),
    ],
)
@pytest.mark.parametrize(
    "text",
    [
        MOVES,
        MOVES.replace("tensor.cuda() if", 'tensor.to("cuda") if'),
        MOVES.replace("tensor.cuda() if", 'tensor.to(device="cuda:0") if'),
        MOVES.replace(
            "return tensor.cuda() if cuda else tensor",
            "if cuda:\n        tensor = tensor.cuda()\n    return tensor",
        ),
    ],
)
def test_a_model_is_not_moved_without_its_inputs(
    cli: Cli, project: Path, text: str, imports: str, call: str
) -> None:
    (project / "parts.py").write_text(text)
    found = _told(cli, project, RUNNER.format(imports=imports, call=call))
    assert found["fix"] is None
    assert found["no_fix"].startswith("line 11: ")


@pytest.mark.parametrize("call", ["x", "kept(x, self.use_cuda)", "placed(x, self.wide)"])
def test_what_a_flag_does_not_move_keeps_no_model_back(cli: Cli, project: Path, call: str) -> None:
    (project / "parts.py").write_text(MOVES)
    found = _told(cli, project, RUNNER.format(imports="from parts import *", call=call))
    assert found["fix"] is not None


def test_another_class_is_not_asked(cli: Cli, project: Path) -> None:
    (project / "parts.py").write_text(MOVES)
    runner = RUNNER.format(imports="from parts import *", call="x")
    other = RUNNER.format(imports="", call=CALL).split("\n\n\n")[1].replace("Runner", "Other")
    own = other.replace("net.cuda() if args.cuda else net", "net")
    found = _told(cli, project, f"{runner}\n\n{own}")
    assert found["fix"] is not None


def _told(cli: Cli, project: Path, text: str) -> dict[str, object]:
    (project / "runner.py").write_text(text)
    output = cli("check", "--no-cache", "--output-format", "json", "runner.py").out
    (found,) = (one for one in json.loads(output) if one["code"] == "MPS102")
    return found
