"""What `check` calls fixable is what `fix` fixes, where another file decides on that."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Cli

NET = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(x) + torch.ones(2).cuda()
"""
PROGRAM = """\
import torch

from net import Net

net = Net().cuda()
print(net(torch.ones(1, 2).cuda()))
"""
ON_CUDA_ALONE = "print(torch.cuda.current_device())\n"
"""What raises on a Mac, and has no fix."""
KERNELS = """\
import torch


def march(rays):
    import _march

    return _march.march(rays.cuda())
"""
SETUP = """\
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(ext_modules=[CUDAExtension(name="_march", sources=["march.cu"])])
"""
LOADER = """\
import torch
from torch.utils.data import DataLoader

loader = DataLoader([], pin_memory=True)
"""
FLAGGED = """\
import torch

cuda = True if torch.cuda.is_available() else False
net = torch.nn.Linear(4, 4)
if cuda:
    net.cuda()
Tensor = torch.cuda.FloatTensor if cuda else torch.FloatTensor
for step in range(3):
    net(torch.autograd.Variable(Tensor(2, 4).fill_(step))).sum().backward()
"""
"""The test of line 3 has no fix of its own: it goes with what hangs on it."""
CHOSEN = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""


OF_LUA = "import torch.legacy.nn\n"
"""What no torch has that has MPS: nothing is ported beside it."""
UNEXTENDABLE = """\
import torch


def build(use_cuda):
    if use_cuda:
        device = "cuda"
    else:
        device = "cpu"
    return torch.nn.Linear(2, 2).to(device)
"""
"""A switch that nothing compares with the machine: an arm for MPS would have no test of its own."""
OF_TENSOR = """\
import torch


def noise(x):
    kind = torch.cuda.FloatTensor if x.is_cuda else torch.FloatTensor
    return x + kind(2).fill_(1)
"""


def write(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)


def promised(cli: Cli) -> set[tuple[str, str, int]]:
    """The findings that `check` says `fix` will mend: file, code, row."""
    found = json.loads(cli("check", "--output-format", "json", ".").out)
    return {
        (Path(one["filename"]).name, one["code"], one["location"]["row"])
        for one in found
        if one["fix"] and one["fix"]["applicability"] == "safe"
    }


def mended(cli: Cli) -> set[tuple[str, str, int]]:
    """Those that `fix` mends."""
    found, name = set(), ""
    for line in cli("fix", "--no-verify", "--show-fixes", ".").out.splitlines():
        if line.endswith(".py:"):
            name = line[:-1]
        elif " x MPS" in line:
            code = line.split(" x ")[1].split(" ")[0]
            rows = line.rpartition("[")[2].rstrip("]").split(", ")
            found |= {(name, code, int(row)) for row in rows}
    return found


def test_of_a_program_that_can_be_ported_all_is_promised(cli: Cli, project: Path) -> None:
    write(project, net=NET, program=PROGRAM)
    before = promised(cli)
    assert len(before) == 3
    assert mended(cli) == before


SCALE = """\
import torch


class Scale:
    def __init__(self):
        self.mean = torch.ones(2)

    def cuda(self):
        self.mean = self.mean.cuda()
        return self
"""


@pytest.mark.parametrize(
    ("last", "number"), [("print(net, scale)\n", 3), ("print(net(scale.cuda()))\n", 0)]
)
def test_a_move_that_is_taken_away_calls_no_method_of_the_project(
    cli: Cli, project: Path, last: str, number: int
) -> None:
    program = f"from scale import Scale\n{PROGRAM}scale = Scale()\n{last}"
    write(project, net=NET, program=program, scale=SCALE)
    before = promised(cli)
    assert len([one for one in before if one[0] != "scale.py"]) == number
    assert mended(cli) == before


def test_a_test_that_goes_with_what_hangs_on_it_is_in_nobodys_way(cli: Cli, project: Path) -> None:
    write(project, gan=FLAGGED)
    before = promised(cli)
    assert before == {("gan.py", "MPS103", 3), ("gan.py", "MPS102", 6), ("gan.py", "MPS111", 7)}
    assert mended(cli) == before


@pytest.mark.parametrize("again", [False, True], ids=["anew", "from the cache"])
def test_of_one_that_cannot_nothing_is(cli: Cli, project: Path, again: bool) -> None:
    write(project, net=NET, program=PROGRAM + ON_CUDA_ALONE)
    if again:
        promised(cli)
    assert promised(cli) == set()
    assert mended(cli) == set()


def test_the_text_says_which_line_is_in_the_way(cli: Cli, project: Path) -> None:
    write(project, net=NET, program=PROGRAM + ON_CUDA_ALONE)
    out = cli("check", "--output-format", "full", ".").out
    assert "[*]" not in out
    assert "program.py, line 7: " in out


def test_a_loader_is_promised_its_fix_where_one_of_its_programs_goes_on(
    cli: Cli, project: Path
) -> None:
    other = "import torch\n\nimport loader\n\n" + NET.partition("\n")[2]
    write(project, loader=LOADER, program=other + ON_CUDA_ALONE)
    assert promised(cli) == set()
    assert mended(cli) == set()
    write(project, going_on="import loader\n\nprint(loader)\n")
    before = promised(cli)
    assert ("loader.py", "MPS608", 4) in before
    assert mended(cli) == before


def test_a_test_that_a_fix_below_it_rewrites_is_in_nobodys_way(cli: Cli, project: Path) -> None:
    text = "import torch\n\nnet = torch.nn.Linear(2, 2)\n"
    text += "if torch.cuda.is_available():\n    net = net.cuda()\n"
    write(project, train=text, other=CHOSEN + "print(torch.ones(2, device=device))\n")
    before = promised(cli)
    assert {name for name, _, _ in before} == {"train.py", "other.py"}
    assert mended(cli) == before


def test_what_is_handed_to_kernels_for_cuda_alone_is_promised_nothing(
    cli: Cli, project: Path
) -> None:
    write(project, setup=SETUP, march=KERNELS, net=NET, program=PROGRAM)
    before = promised(cli)
    assert {name for name, _, _ in before} == {"net.py", "program.py"}
    assert mended(cli) == before


def test_a_file_of_the_same_name_that_is_not_imported_keeps_no_promise_back(
    cli: Cli, project: Path
) -> None:
    """Each folder has a `net.py`, and the program of one of them cannot be ported."""
    for name, more in (("left", OF_LUA), ("right", "")):
        (project / name).mkdir()
        write(project / name, net=CHOSEN, **{name: f"import net\n{more}{FLAGGED}"})
    before = promised(cli)
    flag, move, type_ = ("MPS103", 4), ("MPS102", 7), ("MPS111", 8)
    assert before == {("net.py", "MPS103", 3), *(("right.py", *one) for one in (flag, move, type_))}
    assert {(Path(name).name, *rest) for name, *rest in mended(cli)} == before


def test_a_selection_that_no_fix_can_extend_is_promised_none(cli: Cli, project: Path) -> None:
    write(project, build=UNEXTENDABLE)
    out = cli("check", "--output-format", "concise", ".").out
    assert "MPS103" in out
    assert "[*]" not in out
    assert "fixable" not in out
    assert mended(cli) == set()


def test_types_that_follow_a_tensor_are_promised_and_made(cli: Cli, project: Path) -> None:
    write(project, net=OF_TENSOR)
    before = promised(cli)
    assert {code for _, code, _ in before} == {"MPS111"}
    assert mended(cli) == before


def test_a_device_that_another_file_takes_is_promised_and_made(cli: Cli, project: Path) -> None:
    """What that file does with a device is the same on CUDA before and after MPS is chosen."""
    taking = """\
import torch


class Walk:
    def __init__(self, folder, device):
        state = torch.load(folder, map_location={"cuda:0": str(device)})
        self.net = torch.nn.Linear(2, 2).to(device)
        self.net.load_state_dict(state)
        self.device = device
"""
    program = """\
import torch
from torch.multiprocessing import Process

from walk import Walk


def worker(gpu):
    device = torch.device("cuda:{}".format(gpu) if torch.cuda.is_available() else "cpu")
    with torch.no_grad():
        walk = Walk("here", device)


for index in range(2):
    Process(target=worker, args=(index,)).start()
"""
    write(project, walk=taking, main=program)
    before = promised(cli)
    assert ("main.py", "MPS103", 8) in before
    assert mended(cli) == before


def test_a_notebook_is_promised_no_more_than_a_script(cli: Cli, project: Path) -> None:
    """Its last cell asks for CUDA alone, and no fix mends that."""
    cells = ["import torch\n\nx = torch.ones(2).cuda()\n", ON_CUDA_ALONE]
    code = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}}
    notebook["cells"] = [{**code, "id": str(n), "source": text} for n, text in enumerate(cells)]  # type: ignore[assignment]
    (project / "run.ipynb").write_text(json.dumps(notebook))
    out = cli("check", "--output-format", "concise", ".").out
    assert "run.ipynb:cell 1:3:19: MPS102" in out
    assert "[*]" not in out
    assert mended(cli) == set()


def test_a_notebook_that_is_larger_than_what_a_project_reads_of_others_stops_no_check(
    cli: Cli, project: Path
) -> None:
    (project / "train.py").write_text(
        'import torch\n\ndevice = "cuda" if torch.cuda.is_available() else "cpu"\n'
        "print(torch.ones(1).to(device))\n"
    )
    pictures = {"output_type": "display_data", "data": {"image/png": "A" * 2_100_000}}
    code = ["import torch\n", "torch.ones(1).cuda()\n"]
    cell = {"cell_type": "code", "source": code, "outputs": [pictures], "metadata": {}}
    cell["execution_count"] = None
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (project / "shown.ipynb").write_text(json.dumps(notebook))
    ran = cli("check", "--output-format", "json")
    assert {found["code"] for found in json.loads(ran.out)} == {"MPS102", "MPS103"}
    assert (ran.code, ran.err) == (1, "")


def test_a_package_that_a_neighbour_installs_is_the_project_s_own(cli: Cli, project: Path) -> None:
    used = "import torch\nfrom warpnet import Net\n\nnet = Net().cuda()\n"
    write(project, program=used + "print(net(torch.ones(1, 2).cuda()))\n")
    part = project / "core"
    (part / "src" / "warpnet").mkdir(parents=True)
    (part / "src" / "warpnet" / "__init__.py").write_text("from .net import Net\n")
    (part / "src" / "warpnet" / "net.py").write_text(NET)
    assert promised(cli) == {("net.py", "MPS102", 11)}  # Nobody says whose `warpnet` is.

    settings = '[project]\nname = "warpnet"\ndependencies = ["torch>=2.6"]\n'
    (part / "pyproject.toml").write_text(settings)
    before = promised(cli)
    assert before == {
        ("net.py", "MPS102", 11),
        ("program.py", "MPS102", 4),
        ("program.py", "MPS102", 5),
    }
    assert {(one.rpartition("/")[2], *rest) for one, *rest in mended(cli)} == before


def test_what_such_a_package_leaves_on_cuda_keeps_who_imports_it_there(
    cli: Cli, project: Path
) -> None:
    used = "import torch\nfrom warpnet import Net\n\nnet = Net().cuda()\n"
    write(project, program=used + "print(net(torch.ones(1, 2).cuda()))\n")
    part = project / "core"
    (part / "warpnet").mkdir(parents=True)
    settings = '[project]\nname = "warpnet"\ndependencies = ["torch>=2.6"]\n'
    (part / "pyproject.toml").write_text(settings)
    (part / "warpnet" / "__init__.py").write_text(
        NET.replace("torch.ones(2).cuda()", "torch.cuda.current_device()")
    )
    assert promised(cli) == set()
    assert mended(cli) == set()
