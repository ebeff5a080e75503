"""The default of an option that a program never reads places nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.project.neighbours import Neighbours
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

_PROGRAM = """
import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--size", default=3, type=int)
parser.add_argument("--device", default="cuda", type=str)
args = parser.parse_args()
device = torch.device("cpu")
x = torch.zeros(args.size).to(device)
{more}
"""


def _told(folder: Path, more: str = "", **others: str) -> bool:
    (folder / "README.md").write_text("A project.\n")
    path = folder / "program.py"
    path.write_text(_PROGRAM.format(more=more))
    for name, text in others.items():
        (folder / f"{name}.py").write_text(text)
    settings = Settings(select=("MPS101",))
    source = SourceFile(str(path), path.read_bytes())
    return bool(lint(source, settings, elsewhere=Neighbours(settings)))


def test_an_option_that_is_never_read_is_not_told(tmp_path: Path) -> None:
    assert not _told(tmp_path)


def test_an_attribute_of_the_same_name_of_something_else_reads_nothing(tmp_path: Path) -> None:
    assert not _told(tmp_path, "y = torch.ones(3, device=x.device)")


@pytest.mark.parametrize(
    "more",
    [
        'print(getattr(args, "half", False))',
        "print(args)",
        'print(f"{args}")',
        'hasattr(args, "x")',
    ],
)
def test_who_prints_the_answers_or_asks_for_another_one_reads_nothing(
    tmp_path: Path, more: str
) -> None:
    assert not _told(tmp_path, more)


@pytest.mark.parametrize(
    "more",
    [
        "y = x.to(args.device)",
        "work(args)",
        "print(vars(args))",
        "work(**args.__dict__)",
        "work(dict(args._get_kwargs()))",
        "work([action.default for action in parser._actions])",
        'y = x.to(getattr(args, "device"))',
        "add_more(parser)",
        "y = x.to(parser.parse_args().device)",
    ],
)
def test_an_option_that_may_be_read_is_told(tmp_path: Path, more: str) -> None:
    assert _told(tmp_path, more)


def test_another_file_may_read_it(tmp_path: Path) -> None:
    assert _told(tmp_path, other="from program import args\n\nprint(args.device)\n")


_CHOSEN = """
import argparse
import torch


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    device = {chosen}
    x = torch.zeros(3).to(device)


main()
"""
_FOR_ALL = 'args.device if torch.cuda.is_available() or args.device == "cpu" else "cpu"'


def _defaults(folder: Path, chosen: str) -> list[str]:
    path = folder / "program.py"
    path.write_text(_CHOSEN.format(chosen=chosen))
    settings = Settings(select=("MPS101", "MPS103"))
    source = SourceFile(str(path), path.read_bytes())
    return [one.code for one in lint(source, settings, elsewhere=Neighbours(settings))]


@pytest.mark.parametrize(
    "chosen",
    [
        'args.device if torch.cuda.is_available() else "cpu"',
        'torch.device(args.device if torch.cuda.is_available() else "cpu")',
        _FOR_ALL,
        _FOR_ALL + "\n    other = load(3, device)",
    ],
)
def test_an_option_that_a_choice_takes_for_cuda_alone_is_told_by_that_choice(
    tmp_path: Path, chosen: str
) -> None:
    assert _defaults(tmp_path, chosen) == ["MPS103"]


@pytest.mark.parametrize(
    "chosen",
    [
        "args.device",
        "load(3, args.device)",
        'args.device if args.device == "cpu" else args.device',
    ],
)
def test_an_option_that_a_mac_takes_is_told(tmp_path: Path, chosen: str) -> None:
    assert "MPS101" in _defaults(tmp_path, chosen)


_GIVEN_BACK = """
import argparse
import torch


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", default=3, type=int)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    return args


def model(args):
    return torch.nn.Linear(args.size, args.size)
"""
_TRAIN = """
import torch
from options import model, options

args = options()
net = model(args)
x = torch.ones(args.size, device=net.weight.device)
{}
"""


def _is_told(folder: Path, more: str = "", given_back: str = _GIVEN_BACK) -> bool:
    (folder / "README.md").write_text("A project.\n")
    path = folder / "options.py"
    path.write_text(given_back)
    (folder / "train.py").write_text(_TRAIN.format(more))
    settings = Settings(select=("MPS101",))
    source = SourceFile(str(path), path.read_bytes())
    return bool(lint(source, settings, elsewhere=Neighbours(settings)))


@pytest.mark.parametrize(
    "more",
    [
        "y = torch.ones(3, device=torch.device('cpu'))",
        "def like(x):\n    return torch.ones(x.size(), device=x.device)",
        "def above(x):\n    return torch.ones(3, device=x.device) * (x > 3)",
    ],
)
def test_an_option_that_no_file_reads_is_not_told(tmp_path: Path, more: str) -> None:
    assert not _is_told(tmp_path, more)


@pytest.mark.parametrize(
    "more",
    [
        "net.to(args.device)",
        'net.to(getattr(args, "device"))',
        "run(**vars(args))",
        "def run(given):\n    start(**given.__dict__)",
        "def run(given):\n    start(**{name: getattr(given, name) for name in NAMES})",
        "def run(given):\n    net.to(given.device)",
        'def run(given):\n    print("%s" % given)\n    net.to(given.device)',
        "def run(given):\n    net.to(given.device)\n    print(given.size)",
    ],
)
def test_an_option_that_some_file_may_read_is_told(tmp_path: Path, more: str) -> None:
    assert _is_told(tmp_path, more)


@pytest.mark.parametrize(
    ("was", "is_now"),
    [
        ("    return args", "    start(args)\n    return args"),
        ("    args =", "    add_more(parser)\n    args ="),
        ("    return args", "    return vars(args)"),
    ],
)
def test_an_option_that_goes_out_of_sight_is_told(tmp_path: Path, was: str, is_now: str) -> None:
    assert _is_told(tmp_path, given_back=_GIVEN_BACK.replace(was, is_now))


def test_an_option_whose_parser_is_asked_for_its_groups_is_not_told(tmp_path: Path) -> None:
    assert not _told(tmp_path, "parser._action_groups.pop()")
