"""Parts of packages of which as a whole nobody knows what they do with tensors on MPS."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Cli

CHOICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
NET = "net = torch.nn.Linear(2, 2).to(device)\nx = torch.zeros(4, 2).to(device)\n"


def is_ported(cli: Cli, project: Path, program: str, **modules: str) -> bool:
    for name, text in {"train": program, **modules}.items():
        (project / f"{name}.py").write_text(text)
    cli("fix", "--no-verify", ".")
    return '"mps"' in (project / "train.py").read_text()


def used(imported: str, rest: str) -> str:
    return f"import numpy as np\nimport torch\n{imported}\n\n{CHOICE}{NET}{rest}\n"


@pytest.mark.parametrize(
    ("imported", "rest"),
    [
        ("from torch_geometric.nn import GCNConv", "print(GCNConv(2, 2).to(device)(net(x)))"),
        ("import torch_geometric.nn as gnn", "print(gnn.SAGEConv(2, 2).to(device)(net(x)))"),
        ("import torch_geometric", "print(torch_geometric.nn.GATConv(2, 2)(net(x)))"),
        ("from torch_geometric import utils", "print(utils.softmax(net(x), x))"),
        ("from torch_geometric.nn.conv.gcn_conv import gcn_norm", "print(gcn_norm(net(x)))"),
        ("from torch_geometric.nn import global_mean_pool as pool", "print(pool(net(x), x))"),
        ("from pytorch_toolbelt.losses import *", "print(DiceLoss('binary')(net(x), x))"),
        ("from pytorch_toolbelt.utils import count_parameters", "print(count_parameters(net))"),
        (
            "from pytorch_toolbelt.utils.catalyst import report_checkpoint",
            "print(report_checkpoint(net))",
        ),
        ("import loralib as lora", "print(lora.Linear(2, 2, r=1).to(device)(net(x)))"),
        ("import py3Dmol", "print(py3Dmol.view(data=net.name))"),
    ],
)
def test_a_part_that_is_known_keeps_no_program_from_mps(
    cli: Cli, project: Path, imported: str, rest: str
) -> None:
    assert is_ported(cli, project, used(imported, rest))


@pytest.mark.parametrize(
    ("imported", "rest"),
    [
        ("from torch_geometric.nn import SplineConv", "print(SplineConv(2, 2).to(device)(net(x)))"),
        ("import torch_geometric.nn as gnn", "print(gnn.Node2Vec(x, 2).to(device)(net(x)))"),
        ("from torch_geometric.nn import *", "print(GCNConv(2, 2).to(device)(net(x)))"),
        ("from torch_geometric.utils import spmm", "print(spmm(net(x), x))"),
        ("from pytorch_toolbelt.utils import *", "print(maybe_cuda(net(x)))"),
        ("from pytorch_toolbelt.utils.torch_utils import maybe_cuda", "print(maybe_cuda(net(x)))"),
        ("from pytorch_toolbelt.utils.catalyst import Showing", "print(Showing(net))"),
        ("import torchsummary", "torchsummary.summary(net, (4, 2))"),
    ],
)
def test_a_part_that_is_not_known_keeps_it_there(
    cli: Cli, project: Path, imported: str, rest: str
) -> None:
    assert not is_ported(cli, project, used(imported, rest))


def test_beside_an_old_torch_lie_older_releases_of_which_nothing_is_known(
    cli: Cli, project: Path
) -> None:
    program = used("from torch_geometric.nn import GCNConv", "print(GCNConv(2, 2)(net(x)))")
    (project / "requirements.txt").write_text("torch==1.13.1\n")
    assert not is_ported(cli, project, program)


GRAPHS = "from torch_geometric.data import Data"


def graphs(made: str, before: str = "") -> str:
    return used(GRAPHS, f"{before}data = {made}\ndata = data.to(device)\nprint(net(data.x))")


@pytest.mark.parametrize(
    "program",
    [
        graphs("Data(x=torch.zeros(4, 2), y=torch.tensor([0, 1]))"),
        graphs("Data(x=torch.from_numpy(rows).float())", "rows = np.load('a.npy')\n"),
        graphs("Data(x=torch.tensor(rows, dtype=torch.float))", "rows = np.load('a.npy')\n"),
        graphs(
            "Data(x=made[0].unsqueeze(0), y=1)", "made = torch.from_numpy(np.ones(2)).float()\n"
        ),
        graphs("Data(x=old.x, edge_index=old.edge_index)", "old = torch.load('a.pt')\n"),
        graphs("Data(x=wide().long())", "def wide():\n    return torch.from_numpy(np.ones(2))\n\n"),
        graphs("Data(x=plain())", "def plain():\n    return torch.full((2, 2), -1)\n\n"),
        graphs("Data(x=torch.cat([torch.ones(2), torch.randn(2)]))"),
        graphs("Data()", "") + "data.y = torch.tensor(np.ones(2), dtype=torch.float32)\n",
    ],
)
def test_a_graph_of_what_is_shown_to_be_no_float64_goes_to_mps(
    cli: Cli, project: Path, program: str
) -> None:
    assert is_ported(cli, project, program)


@pytest.mark.parametrize(
    "program",
    [
        graphs("Data(x=torch.from_numpy(np.load('a.npy')))"),
        graphs("Data(x=torch.zeros(4, 2), y=torch.tensor(np.load('a.npy')))"),
        graphs("Data(torch.zeros(4, 2).double())"),
        graphs("Data(x=torch.zeros(4, 2, dtype=torch.float64))"),
        graphs("Data(x=torch.zeros(4, 2).to(torch.float64))"),
        graphs("Data(x=made)", "made = torch.zeros(2)\nmade = torch.load('a.pt')\n"),
        graphs("Data(x=wide())", "def wide():\n    return torch.from_numpy(np.ones(2))\n\n"),
        graphs("Data(x=torch.cat([torch.ones(2), torch.load('a.pt')]))"),
        graphs("Data()", "") + "data.y = torch.tensor(np.ones(2))\n",
        graphs(
            "make(x=torch.from_numpy(np.ones(2)))",
            "import functools\nmake = functools.partial(Data)\n",
        ),
    ],
)
def test_a_graph_that_may_hold_float64_stays(cli: Cli, project: Path, program: str) -> None:
    assert not is_ported(cli, project, program)


SET = """\
class Graphs(InMemoryDataset):
    def process(self):
        made = []
        for row in np.load("a.npy"):
            x = torch.tensor(row, dtype=torch.float)
            made.append(Data(x=x))
        self.data, self.slices = self.collate(made)

    def shown(self, x: Data) -> Data:
        return x if isinstance(x, Data) else None


for batch in DataLoader(Graphs("a"), batch_size=2):
    batch = batch.to(device)
    print(net(batch.x))
"""


def test_a_data_set_s_own_making_is_on_its_way_though_nobody_names_it(
    cli: Cli, project: Path
) -> None:
    imported = GRAPHS + ", InMemoryDataset\nfrom torch_geometric.loader import DataLoader"
    assert is_ported(cli, project, used(imported, SET))
    wide = SET.replace(", dtype=torch.float", "")
    assert not is_ported(cli, project, used(imported, wide))


def test_what_a_function_makes_for_a_graph_is_looked_at(cli: Cli, project: Path) -> None:
    data = (
        "import torch\nfrom torch_geometric.transforms import BaseTransform\n\n\n"
        "class Labels(BaseTransform):\n    def __call__(self, data):\n"
        "        data.y = encoded(data.x)\n        return data\n\n\n"
        "def encoded(x):\n    made = torch.tensor(list(map(table.get, x)))\n    return made\n"
    )
    program = used("from data import Labels", "print(net(Labels()(x).y.to(device)))")
    assert not is_ported(cli, project, program, data=data)
    known = data.replace("get, x))", "get, x)), dtype=torch.float32")
    assert is_ported(cli, project, program, data=known)


ONE_CHANGE = """\
import torch
from net import Net
from torchsummary import summary


def show():
    cuda = True if torch.cuda.is_available() else False
    net = Net()
    if cuda:
        net.cuda()
    summary(net, (4, 2))


def infer(x):
    cuda = True if torch.cuda.is_available() else False
    kind = torch.cuda.FloatTensor if cuda else torch.FloatTensor
    net = Net()
    if cuda:
        net.cuda()
    print(net(x.type(kind)))


show()
infer(torch.ones(4, 2))
"""
NET_FILE = """\
import torch


class Net(torch.nn.Linear):
    def __init__(self):
        super().__init__(2, 2)
"""


def test_what_makes_the_change_of_a_fix_in_doubt_does_not_make_it_for_sure(
    cli: Cli, project: Path
) -> None:
    (project / "train.py").write_text(ONE_CHANGE)
    (project / "net.py").write_text(NET_FILE)
    told = json.loads(cli("check", "--output-format", "json", ".").out)
    assert {one["fix"]["applicability"] for one in told} == {"unsafe"}
    cli("fix", "--no-verify", ".")
    assert (project / "train.py").read_text() == ONE_CHANGE
