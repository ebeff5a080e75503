"""A gate that loads a checkpoint to the CPU in one arm, and moves what it was copied into in the
other, decides nothing but where things live."""

from __future__ import annotations

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

PROGRAM = """\
import sys

import torch

net = torch.nn.Linear(4, 2)
if torch.cuda.is_available():
    {cuda}
    net.cuda()
else:
    {cpu}
x = torch.ones(1, 4)
if torch.cuda.is_available():
    x = x.cuda()
print(net(x))
"""
LOAD = "net.load_state_dict(torch.load(sys.argv[1]))"


def fixed(cuda: str, cpu: str) -> str:
    text = PROGRAM.format(cuda=cuda, cpu=cpu)
    return fix_source(SourceFile("run.py", text.encode()), Settings()).text


@pytest.mark.parametrize(
    "place", ["'cpu'", "torch.device('cpu')", "lambda storage, location: storage"]
)
def test_what_is_copied_into_a_module_is_loaded_as_in_the_other_arm(place: str) -> None:
    text = fixed(LOAD, LOAD.replace("])", f"], map_location={place})"))
    assert text.endswith(
        "net = torch.nn.Linear(4, 2)\n"
        f"net.load_state_dict(torch.load(sys.argv[1], map_location={place}))\n"
        "net.to(device)\n"
        "x = torch.ones(1, 4)\n"
        "x = x.to(device)\n"
        "print(net(x))\n"
    )


def test_what_moves_besides_in_one_arm_is_no_other_thing() -> None:
    text = fixed("x = torch.ones(2)", "x = torch.ones(2)")
    assert "x = torch.ones(2)\nnet.to(device)\n" in text


def test_a_question_with_two_answers_that_both_move_is_kept() -> None:
    text = PROGRAM.replace("    x = x.cuda()\n", "    if wide:\n        x = x.cuda()\n{}")
    text = text.replace("import torch", "import torch\n\nwide = len(sys.argv) > 1")
    text = text.replace("if torch.cuda.is_available():\n    {cuda}\n", "if {test}:\n", 1)
    text = text.replace("else:\n    {cpu}\n", "")
    text = text.format("    else:\n        net = net.cuda()\n", test="torch.cuda.is_available()")
    made = fix_source(SourceFile("run.py", text.encode()), Settings()).text
    assert "if wide:\n    x = x.to(device)\nelse:\n    net = net.to(device)\n" in made


@pytest.mark.parametrize(
    ("cuda", "cpu"),
    [
        (LOAD, LOAD.replace("1]", "2], map_location='cpu'")),
        (LOAD, LOAD.replace("1]", "1], map_location='meta'")),
        (LOAD, "pass; print('no weights')"),
        ("state = torch.load(sys.argv[1])", "state = torch.load(sys.argv[1], map_location='cpu')"),
    ],
    ids=["another file", "another place", "not at all", "not copied"],
)
def test_arms_that_load_otherwise_stay(cuda: str, cpu: str) -> None:
    text = PROGRAM.format(cuda=cuda, cpu=cpu).replace("print(net(x))", "print(net(x), state)")
    text = text if "state =" in cuda else text.replace(", state)", ")")
    made = fix_source(SourceFile("run.py", text.encode()), Settings()).text
    assert f"    {cuda}\n    net.cuda()\n" in made
