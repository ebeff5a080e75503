"""A CUDA device that is written out, unless something else takes its place on some way, is told
where the function of another file that is given it places something there on a Mac."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.project.neighbours import Neighbours
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

PLACES = """\
import torch


def prune(model, device=torch.device("cuda:0")):
    return torch.zeros(3, device=device)
"""
FALLS_BACK = """\
import torch


def prune(model, device=None):
    if not torch.cuda.is_available():
        device = "cpu"
    return torch.zeros(3, device=device)
"""
IGNORES = """\
import torch


def prune(model, device=None):
    if torch.cuda.is_available():
        print(device)
    return model(torch.zeros(3, device="cpu"))
"""
BY_NAME = """\
device = torch.device("cuda:0")
if "30b" in args.model:
    device = model.hf_device_map["lm_head"]
"""
IN_TURN = """\
device = torch.device("cuda:0")
if "30b" in args.model:
    device = model.hf_device_map["lm_head"]
elif "65b" in args.model:
    device = model.hf_device_map["embed"]
"""
THE_USERS_SWITCH = """\
device = torch.device("cpu")
if args.gpu:
    device = torch.device("cuda:0")
"""
THE_USERS_OPTION = """\
device = torch.device("cuda:0")
if args.device:
    device = args.device
"""
WITHOUT_CUDA = """\
device = torch.device("cuda:0")
if not torch.cuda.is_available():
    device = model.device
"""
PROGRAM = """\
import argparse

import torch
from lib import prune

parser = argparse.ArgumentParser()
parser.add_argument("--model")
parser.add_argument("--device")
parser.add_argument("--gpu", action="store_true")
args = parser.parse_args()
model = torch.load(args.model, map_location="cpu")
{}prune(model, {})
"""


def found(folder: Path, prune: str, chosen: str, given: str = "device") -> list[int]:
    (folder / "lib.py").write_text(prune)
    path = folder / "main.py"
    path.write_text(PROGRAM.format(chosen, given))
    return told(path)


def told(path: Path) -> list[int]:
    settings = Settings(select=("MPS101",))
    source = SourceFile(str(path), path.read_bytes())
    return [finding.row for finding in lint(source, settings, elsewhere=Neighbours(settings))]


@pytest.mark.parametrize("given", ["device", "device=device"])
@pytest.mark.parametrize("chosen", [BY_NAME, IN_TURN])
def test_it_is_told_where_the_function_places_something_with_it(
    tmp_path: Path, chosen: str, given: str
) -> None:
    assert found(tmp_path, PLACES, chosen, given) == [12]


@pytest.mark.parametrize("prune", [FALLS_BACK, IGNORES])
def test_it_is_left_alone_where_the_function_does_not_place_with_it(
    tmp_path: Path, prune: str
) -> None:
    assert found(tmp_path, prune, BY_NAME) == []


@pytest.mark.parametrize("chosen", [THE_USERS_SWITCH, THE_USERS_OPTION, WITHOUT_CUDA])
def test_what_the_user_chooses_or_the_machine_is_left_alone(tmp_path: Path, chosen: str) -> None:
    assert found(tmp_path, PLACES, chosen) == []


@pytest.mark.parametrize(
    ("call", "rows"),
    [("prune(model, torch.device('cpu'))", []), ("prune(model)", [4])],
    ids=["all callers give it", "one leaves it out"],
)
def test_a_default_that_is_made_a_device_is_told_unless_all_callers_replace_it(
    tmp_path: Path, call: str, rows: list[int]
) -> None:
    (tmp_path / "README.md").write_text("A project without a version control.\n")
    (tmp_path / "main.py").write_text(f"import torch\nfrom lib import prune\n\n\n{call}\n")
    path = tmp_path / "lib.py"
    path.write_text(PLACES)
    assert told(path) == rows
