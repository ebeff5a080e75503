"""A selection that a fix adds keeps the switch of the script's own options."""

from __future__ import annotations

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

_SCRIPT = """\
import argparse
import torch
from torch.utils.data import DataLoader

parser = argparse.ArgumentParser()
{option}
args = parser.parse_args()
loader = DataLoader([], pin_memory=True)
net = torch.nn.Linear(3, 3)
{gate}
    net.cuda()


def test():
    for x in loader:
        net(x.cuda())


test()
"""
_NUMBER = "parser.add_argument('--ngpu', type=int, default=1, help='0 = CPU')"


def fixed(option: str, gate: str) -> str:
    text = _SCRIPT.format(option=option, gate=gate)
    return fix_source(SourceFile("train.py", text.encode()), Settings()).text


def test_no_gpus_is_the_cpu_for_all_that_is_moved() -> None:
    text = fixed(_NUMBER, "if args.ngpu > 0:")
    _, _, behind = text.partition("args = parser.parse_args()\n")
    assert "elif args.ngpu > 0 and torch.cuda.is_available():" in behind
    assert "if args.ngpu > 0 and torch.backends.mps.is_available():" in behind
    assert "net(x.to(device))" in text
    assert "    net.to(device)\n" in text
    assert "pin_memory=torch.cuda.is_available()" in text


def test_a_switch_that_is_off_unless_given_is_kept_as_well() -> None:
    text = fixed("parser.add_argument('--cuda', action='store_true')", "if args.cuda:")
    assert "elif args.cuda and torch.cuda.is_available():" in text


def test_a_switch_that_turns_cuda_off_is_asked_as_the_script_does() -> None:
    option = "parser.add_argument('--no_cuda', action='store_true')"
    assert "elif not args.no_cuda and torch.cuda" in fixed(option, "if not args.no_cuda:")


@pytest.mark.parametrize(
    "gate",
    [
        pytest.param("if args.ngpu > 1:", id="a question for several"),
        pytest.param("if args.ngpu is not None:", id="None is all of them"),
        pytest.param("args.ngpu = min(args.ngpu, 1)\nif args.ngpu > 0:", id="set anew"),
        pytest.param("if args.ngpu > 0 and args.name:", id="another question beside it"),
        pytest.param("if args.name:", id="about something else"),
    ],
)
def test_what_does_not_tell_no_gpu_from_some_is_no_switch(gate: str) -> None:
    text = fixed(_NUMBER, gate)
    assert "and torch.cuda.is_available():" not in text


def test_options_that_are_read_in_a_function_are_not_seen_at_the_top() -> None:
    text = _SCRIPT.format(option=_NUMBER, gate="if args.ngpu > 0:")
    text = text.replace("args = parser.parse_args()", "args = read(parser)")
    after = fix_source(SourceFile("train.py", text.encode()), Settings()).text
    assert "args.ngpu > 0 and" not in after


@pytest.mark.parametrize("move", ["net.cuda()", "net.to('cuda')"])
def test_a_switch_of_a_part_is_not_that_of_the_model(move: str) -> None:
    """With CUDA the model would be trained on the CPU by who does not give the option."""
    text = _SCRIPT.format(
        option="parser.add_argument('--gpu_eval', action='store_true')",
        gate=f"{move}\njudge = torch.nn.Linear(3, 3)\nif args.gpu_eval:",
    ).replace("    net.cuda()", "    judge.cuda()")
    after = fix_source(SourceFile("train.py", text.encode()), Settings()).text
    assert "gpu_eval and" not in after


_SELECTED = """\
import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--cuda", action="store_true")
parser.add_argument("--fast", action="store_true")
args = parser.parse_args()
{selection}
net = torch.nn.Linear(3, 3)
if args.cuda:
    net.cuda()
"""
_CPU = "torch.device('cpu')"
_BEST = "torch.accelerator.current_accelerator()"


def moved(selection: str) -> str:
    text = _SELECTED.format(selection=selection)
    return fix_source(SourceFile("train.py", text.encode()), Settings()).text


@pytest.mark.parametrize(
    "selection",
    [
        f"device = {_BEST} if args.cuda else {_CPU}",
        f"device = {_BEST} if args.cuda and torch.accelerator.is_available() else {_CPU}",
        f"device = {_CPU} if not args.cuda else {_BEST}",
        f"device = {_CPU}\nif args.cuda:\n    device = {_BEST}",
        f"if args.cuda:\n    device = {_BEST}\nelse:\n    device = {_CPU}",
    ],
)
def test_a_device_that_the_switch_alone_selects_is_where_things_are_moved(selection: str) -> None:
    assert "net.to(device)" in moved(selection)


@pytest.mark.parametrize(
    "selection",
    [
        f"device = {_BEST} if args.cuda and args.fast else {_CPU}",
        f"device = {_BEST} if not args.cuda else {_CPU}",
        f"device = {_CPU} if args.cuda else {_BEST}",
        f"if args.cuda and args.fast:\n    device = {_BEST}\nelse:\n    device = {_CPU}",
        f"if args.cuda:\n    device = {_CPU}\nelse:\n    device = {_BEST}",
    ],
)
def test_one_that_may_be_the_cpu_with_the_switch_on_is_not(selection: str) -> None:
    """With `--cuda` alone a CUDA machine would compute on the CPU."""
    assert "net.to(device)" not in moved(selection)
