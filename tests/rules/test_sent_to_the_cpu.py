"""What MPS lacks, where the program sends it to the CPU of a Mac before, or tries and goes on."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

HEAD = """\
import contextlib

import torch

device = torch.device({})
x = torch.rand(3, 3, device=device)
"""
TWO = '"mps" if torch.backends.mps.is_available() else "cpu"'
THREE = f'"cuda" if torch.cuda.is_available() else {TWO}'


def told(body: str, selection: str = TWO) -> set[str]:
    text = HEAD.format(selection) + body
    found = lint(SourceFile("program.py", text.encode()), Settings())
    return {one.code for one in found} & {"MPS401", "MPS501", "MPS301"}


SENT = """\
work = {}
y = x.to(work)
print(torch.linalg.eig(y), y.double(), x.to(work, torch.float64))
"""


@pytest.mark.parametrize("selection", [TWO, THREE])
@pytest.mark.parametrize(
    "work",
    [
        'torch.device("cpu") if device.type == "mps" else device',
        '"cpu" if device.type == "mps" else device',
        '{"mps": "cpu"}.get(device.type, device.type)',
        'torch.device("cpu") if torch.backends.mps.is_available() else device',
    ],
)
def test_what_is_sent_to_the_cpu_where_there_is_mps_is_not_on_it(work: str, selection: str) -> None:
    assert not told(SENT.format(work), selection)


@pytest.mark.parametrize(
    "work",
    [
        'torch.device("cpu") if device.type == "cuda" else device',
        '{"cuda": "cpu"}.get(device.type, device.type)',
    ],
)
def test_what_is_sent_to_the_cpu_where_there_is_cuda_is_told(work: str) -> None:
    assert told(SENT.format(work), THREE) == {"MPS401", "MPS501"}


REPLACED = """\
if {}:
    x = x.cpu()
print(torch.linalg.eig(x), x.double(), x.numpy())
"""


@pytest.mark.parametrize(
    "test", ['x.device.type == "mps"', 'x.device.type != "cpu"', "x.is_mps", 'device.type == "mps"']
)
def test_a_tensor_that_a_test_for_mps_brings_to_the_cpu_is_there(test: str) -> None:
    assert not told(REPLACED.format(test))


@pytest.mark.parametrize("test", ['x.device.type == "cuda"', "x.is_cuda", 'device.type == "cpu"'])
def test_a_tensor_that_another_test_brings_there_is_told(test: str) -> None:
    assert told(REPLACED.format(test)) == {"MPS301", "MPS401", "MPS501"}


ELSEWHERE = """\
if device.type == "{}":
    device = torch.device("cpu")
y = torch.ones(3, device=device, dtype=torch.float64)
net = torch.nn.Linear(2, 2).double().to(device)
print(torch.linalg.eig(torch.eye(3, device=device)))
"""


def test_a_device_that_is_replaced_by_the_cpu_where_it_is_mps_holds_float64() -> None:
    assert not told(ELSEWHERE.format("mps"))
    assert told(ELSEWHERE.format("cuda")) == {"MPS401", "MPS501"}


CAUGHT = """\
try:
    y = {}
except {}:
    {}
"""
FLOAT64 = "torch.zeros(3, dtype=torch.float64, device=device)"


@pytest.mark.parametrize("tried", [FLOAT64, "x.double()", "x.numpy()"])
@pytest.mark.parametrize("error", ["TypeError", "(RuntimeError, TypeError)", "Exception"])
def test_what_a_handler_for_its_error_replaces_raises_nothing(tried: str, error: str) -> None:
    assert not told(CAUGHT.format(tried, error, "y = x.cpu()"))


@pytest.mark.parametrize("tried", [FLOAT64, "x.double()", "x.numpy()"])
@pytest.mark.parametrize(
    ("error", "handled"), [("ValueError", "y = x.cpu()"), ("TypeError", "raise SystemExit(1)")]
)
def test_what_another_handler_is_for_or_one_that_ends_the_program_is_told(
    tried: str, error: str, handled: str
) -> None:
    assert told(CAUGHT.format(tried, error, handled))


@pytest.mark.parametrize(
    "handled",
    [
        "if strict:\n        raise\n    else:\n        raise SystemExit",
        "with open('log') as file:\n        raise SystemExit from error",
        "print(error)\n    exit(1)",
        "try:\n        print(error)\n    finally:\n        raise SystemExit",
        "match strict:\n        case 1:\n            raise\n        case _:\n            exit(2)",
        "if 'size' in str(error):\n        y = x\n    else:\n        raise",
        "if 'MPS' in str(error):\n        raise\n    y = x",
    ],
)
def test_a_handler_that_ends_in_an_error_whatever_happens_is_told(handled: str) -> None:
    text = "strict = len(__file__)\n" + CAUGHT.format("x.double()", "TypeError as error", handled)
    assert told(text) == {"MPS401"}


@pytest.mark.parametrize(
    "handled",
    [
        "if strict:\n        raise\n    y = x",
        "if strict:\n        raise\n    else:\n        y = x",
        "with open('log') as file:\n        y = x",
        "for y in x:\n        if y is None:\n            raise SystemExit",
        "match strict:\n        case 1:\n            raise",
        "if 'MPS' not in str(error):\n        raise\n    y = x",
        "if 'MPS' in str(error):\n        y = x\n    else:\n        raise",
    ],
)
def test_a_handler_that_goes_on_in_some_way_is_a_replacement(handled: str) -> None:
    text = "strict = len(__file__)\n" + CAUGHT.format("x.double()", "TypeError as error", handled)
    assert not told(text)


def test_a_handler_for_all_errors_of_a_whole_block_replaces_none() -> None:
    block = "x.double()\n    print(y)\n    print(y.mean())"
    assert told(CAUGHT.format(block, "Exception", 'print("failed")')) == {"MPS401"}
    loop = "0\n    for _ in range(3):\n        print(x.double())"
    text = CAUGHT.format(loop, "Exception", 'print("failed")').replace("    y = 0\n", "")
    assert told(text) == {"MPS401"}


@pytest.mark.parametrize(("error", "is_told"), [("TypeError", False), ("ValueError", True)])
def test_an_error_that_is_suppressed_is_dealt_with(error: str, is_told: bool) -> None:
    body = f"with contextlib.suppress({error}):\n    x = x.double()\n    x = x + 1\n"
    assert bool(told(body)) is is_told


WRAPPED = """\
def on_cpu(fn):
    def inner(y):
        return fn({}).to(y.device)
    return inner


@on_cpu
def values(y):
    return torch.linalg.eigvals(y).real


print(values(x))
"""


def test_a_decorator_that_hands_on_copies_of_the_cpu_sends_them_there() -> None:
    assert not told(WRAPPED.format("y.cpu()"))
    assert told(WRAPPED.format("y")) == {"MPS501"}


BROUGHT_BACK = """\
import argparse

import torch
from net import Net

parser = argparse.ArgumentParser()
parser.add_argument("--cuda", action="store_true")
parser.add_argument("--show", action="store_true")
args = parser.parse_args()
net, x = Net(), torch.rand(4, 3)
if args.cuda:
    net, x = net.cuda(), x.cuda()
y = net(x)
if args.{flag}:
    y = y.cpu()
print(y.data.numpy())
"""


def test_what_the_flag_that_moves_brings_back_as_well_is_on_the_cpu() -> None:
    assert not lines_of(BROUGHT_BACK.format(flag="cuda"))
    assert lines_of(BROUGHT_BACK.format(flag="show"))


def lines_of(text: str) -> list[int]:
    found = lint(SourceFile("program.py", text.encode()), Settings(select=("MPS301",)))
    return [one.row for one in found]
