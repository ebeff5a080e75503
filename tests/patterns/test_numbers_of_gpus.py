"""The GPU that a device names by its number is one, however the number is given."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile


def fixed(text: str, *, unsafe: bool = False) -> str:
    return fix_source(SourceFile("train.py", text.encode()), Settings(), unsafe=unsafe).text


IN_FUNCTIONS = """\
import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--gpu", type=int, default=1)
args = parser.parse_args()


def build():
    device = DEVICE if torch.cuda.is_available() else torch.device("cpu")
    return nn.Linear(4, 2).to(device)


def batch():
    device = DEVICE if torch.cuda.is_available() else torch.device("cpu")
    return torch.ones(1, 4, device=device)


print(build()(batch()))
"""

WRITTEN_OUT = [
    'torch.device("cuda:1")',
    'torch.device("cuda", 1)',
    'torch.device("cuda", index=1)',
    'torch.device(type="cuda", index=1)',
    'torch.device(index=1, type="cuda")',
]
WORKED_OUT = [
    'torch.device(f"cuda:{args.gpu}")',
    'torch.device("cuda:" + str(args.gpu))',
    'torch.device("cuda:{}".format(args.gpu))',
    'torch.device("cuda:%d" % args.gpu)',
    'torch.device("cuda", args.gpu)',
    'torch.device("cuda", index=args.gpu)',
    'torch.device(type="cuda", index=args.gpu)',
]


@pytest.mark.parametrize("device", [*WRITTEN_OUT, *WORKED_OUT])
def test_a_selection_in_two_functions_keeps_the_number(device: str) -> None:
    text = fixed(IN_FUNCTIONS.replace("DEVICE", device))
    assert text.count(device) == 2
    assert text.count('"mps")') == 2


BESIDE_THE_CURRENT = """\
import torch
from torch import nn

from parts import weights

device = DEVICE if torch.cuda.is_available() else torch.device("cpu")
net = nn.Linear(4, 3).to(device)
Tensor = torch.cuda.FloatTensor
stats = Tensor(3).fill_(1.0)
print((stats * weights()).sum(), net(torch.ones(1, 4, device=device)))
"""


@pytest.mark.parametrize("device", WRITTEN_OUT)
def test_what_lies_on_the_current_gpu_is_put_on_no_other(device: str) -> None:
    text = fixed(BESIDE_THE_CURRENT.replace("DEVICE", device))
    assert "torch.empty(3, device=torch_device)" in text
    assert text.count("cuda:1") == int("cuda:1" in device)


OF_AN_OBJECT = """\
import torch
from torch import nn


class Trainer:
    def __init__(self, gpu: int):
        self.device = DEVICE if torch.cuda.is_available() else torch.device("cpu")
        self.net = nn.Linear(4, 2).to(self.device)

    def stats(self):
        return torch.load("w.pt").cuda()


print(Trainer(1).stats())
"""
OF_A_PARAMETER = [one.replace("args.gpu", "gpu") for one in WORKED_OUT]


@pytest.mark.parametrize("device", [*WRITTEN_OUT, *OF_A_PARAMETER])
def test_a_method_moves_to_no_other_gpu_of_its_object_than_the_current_one(device: str) -> None:
    text = fixed(OF_AN_OBJECT.replace("DEVICE", device))
    assert 'torch.load("w.pt").cuda()' in text


@pytest.mark.parametrize("device", ['torch.device("cuda")', 'torch.device(type="cuda", index=0)'])
def test_a_method_moves_to_the_device_of_its_object_that_is_the_current_one(device: str) -> None:
    text = fixed(OF_AN_OBJECT.replace("DEVICE", device))
    assert 'torch.load("w.pt").to(self.device)' in text


def test_a_method_moves_to_the_gpu_that_the_file_makes_the_current_one() -> None:
    text = OF_AN_OBJECT.replace("DEVICE", 'torch.device("cuda", index=gpu)')
    text = text.replace("        self.net", "        torch.cuda.set_device(gpu)\n        self.net")
    assert 'torch.load("w.pt").to(self.device)' in fixed(text)


NAMED_BEFORE = """\
import torch

NAME = "cuda:1"


def pick():
    return torch.device(NAME if torch.cuda.is_available() else "cpu")


class Trainer:
    def __init__(self):
        self.device = GIVEN

    def stats(self):
        return torch.load("w.pt").cuda()
"""


@pytest.mark.parametrize(
    "given", ['torch.device(NAME if torch.cuda.is_available() else "cpu")', "pick()"]
)
def test_a_number_in_a_text_that_has_a_name_counts(given: str) -> None:
    assert 'torch.load("w.pt").cuda()' in fixed(NAMED_BEFORE.replace("GIVEN", given))


MOVED = """\
import torch

net = torch.nn.Linear(2, 2)
net.cuda(DEVICE)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(net, device)
"""


@pytest.mark.parametrize("device", WRITTEN_OUT)
def test_a_move_to_another_gpu_is_none_to_the_selected_device(device: str) -> None:
    assert f"net.cuda({device})" in fixed(MOVED.replace("DEVICE", device))


CHOSEN_TYPE = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu", NUMBER)
print(torch.ones(2, device=device))
"""


@pytest.mark.parametrize("number", ["1", "index=1"])
def test_a_type_that_is_chosen_for_another_gpu_than_the_first_gets_no_mps(number: str) -> None:
    text = CHOSEN_TYPE.replace("NUMBER", number)
    assert fixed(text, unsafe=True) == text


@pytest.mark.parametrize(
    "device",
    [
        'torch.device("mps", 1)',
        'torch.device("mps", index=1)',
        'torch.device(type="mps", index=1)',
        'torch.device(index=1, type="mps")',
        'torch.device("mps" if ok else "cpu", 1)',
    ],
)
def test_a_mac_has_one_gpu_however_another_is_named(device: str) -> None:
    text = f"import torch\n\nok = torch.backends.mps.is_available()\ndevice = {device}\n"
    source = SourceFile("train.py", text.encode())
    assert "MPS117" in [one.code for one in lint(source, Settings())]
    assert "1" not in fixed(text)
    assert "mps" in fixed(text).splitlines()[-1]


TWO_GPUS = """\
import torch

front = torch.nn.Linear(2, 2).to(torch.device("cuda", 0))
back = torch.nn.Linear(2, 2).to(torch.device(type="cuda", index=1))
"""


def test_parts_on_two_gpus_are_told_as_one_by_the_number_beside_the_type() -> None:
    findings = lint(SourceFile("train.py", TWO_GPUS.encode()), Settings())
    assert [one.row for one in findings if "cuda:0 and cuda:1 by hand" in one.message] == [3]
