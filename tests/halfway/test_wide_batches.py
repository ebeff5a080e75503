"""What a data set makes with NumPy's own dtype is float64 in the batches of a loader."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Cli

DATA = """\
import numpy as np
from torch.utils.data import Dataset


class Series(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        mask = np.ones(8)
        return np.zeros(8, dtype=np.float32), mask
"""
PROGRAM = """\
import torch
from torch.utils.data import DataLoader

from data import Series

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = torch.nn.Linear(8, 8).to(device)
for values, mask in DataLoader(Series()):
    values = values.to(device)
    mask = mask.to(device)
    print(net(values) * mask)
"""


def is_ported(cli: Cli, project: Path, data: str, program: str, *options: str) -> bool:
    (project / "data.py").write_text(data)
    (project / "train.py").write_text(program)
    cli("fix", "--no-verify", *options, ".")
    return '"mps"' in (project / "train.py").read_text()


def test_it_keeps_the_loop_that_moves_it_off_mps(cli: Cli, project: Path) -> None:
    (project / "data.py").write_text(DATA)
    (project / "train.py").write_text(PROGRAM)
    told = cli("fix", "--no-verify", "--select", "MPS103", ".")
    assert (project / "train.py").read_text() == PROGRAM
    assert "line 10: mask.to(device) would be float64, which MPS lacks" in told.err


def test_with_all_rules_it_is_cast_where_that_is_mps(cli: Cli, project: Path) -> None:
    assert is_ported(cli, project, DATA, PROGRAM)
    assert 'torch.float32 if device.type == "mps"' in (project / "train.py").read_text()


@pytest.mark.parametrize(
    ("data", "program"),
    [
        (DATA.replace("np.ones(8)", "np.ones(8, dtype=np.float32)"), PROGRAM),
        (DATA.replace("np.ones(8)", "np.ones(8).astype(np.float32)"), PROGRAM),
        (DATA, PROGRAM.replace("mask.to(device)", "mask.float().to(device)")),
        (DATA, PROGRAM.replace("    mask = mask.to(device)\n", "").replace(" * mask", "")),
        (DATA.replace(", mask\n", ", int(mask.sum())\n"), PROGRAM),
    ],
)
def test_what_is_narrow_before_the_move_keeps_nothing(
    cli: Cli, project: Path, data: str, program: str
) -> None:
    assert is_ported(cli, project, data, program)


PICTURE = DATA.replace("import numpy as np\n", "import cv2\nimport numpy as np\n")


@pytest.mark.parametrize(
    ("made", "opened"),
    [
        # What shapes a picture gives the dtype that it is given; divided, whole numbers are wide.
        ("np.expand_dims(cv2.resize(x.astype(np.float32), (8, 8)), 0) / 255", True),
        ("cv2.cvtColor(cv2.imread('a').astype('float32'), 7) / 255", True),
        ("cv2.flip(x.astype(np.float32), 1)", True),
        ("cv2.resize(cv2.imread('a'), (8, 8)) / 255", False),
        ("cv2.resize(cv2.imread('a') / 255, (8, 8))", False),
        ("cv2.warpAffine(np.ones((8, 8)), x, (8, 8))", False),
    ],
)
def test_a_picture_keeps_its_dtype_where_it_is_shaped(
    cli: Cli, project: Path, made: str, opened: bool
) -> None:
    data = PICTURE.replace("mask = np.ones(8)", f"x = np.load('a.npy')\n        mask = {made}")
    assert is_ported(cli, project, data, PROGRAM, "--select", "MPS103") is opened


def test_check_promises_nothing_of_such_a_loop(cli: Cli, project: Path) -> None:
    (project / "data.py").write_text(DATA)
    (project / "train.py").write_text(PROGRAM.replace(".to(device)", '.to("cuda")'))
    assert "[*]" not in cli("check", ".").out


def test_a_part_of_a_dictionary_is_known_by_its_key(cli: Cli, project: Path) -> None:
    data = DATA.replace("return np.zeros(8, dtype=np.float32), mask", 'return {"mask": np.ones(8)}')
    program = PROGRAM.replace("for values, mask in", "for batch in")
    program = program.replace("    values = values.to(device)\n    mask = mask.to(device)\n", "")
    wide = program.replace("net(values) * mask", 'batch["mask"].to(device)')
    alone = ("--select", "MPS103")
    assert not is_ported(cli, project, data, wide, *alone)
    assert is_ported(cli, project, data, wide.replace('"mask"].to', '"other"].to'), *alone)


READ = """\
import json
import random

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    sizes = {0: 1, 1: 2}
    shares = {0: 0.5, 1: 2.0}

    def __init__(self, path, transform):
        with open(path) as file:
            self.rows = json.load(file)
        self.labels = []
        for row in self.rows:
            self.labels.append(int(row["label"]))
        self.transform = transform
        self.most = max(self.labels)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = self.rows[i]
        x = torch.tensor(row["x"])
        picture = Image.open(row["path"]).convert("RGB")
        return x, PART

    def total(self, x):
        return x.sum()


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = torch.nn.Linear(2, 3).to(device)
net.train()
criterion = torch.nn.CrossEntropyLoss()
for x, y in DataLoader(Rows("rows.json", None), batch_size=2):
    x = x.to(device)
    y = y.to(device)
    print(net(x)[:, 0] - y)
"""
MOVE = "    y = y.to(device)\n"
USE = "print(net(x)[:, 0] - y)"


def of(part: str, move: str = MOVE, use: str = USE) -> str:
    assert MOVE in READ
    return READ.replace("PART", part).replace(MOVE, move).replace(USE, use)


def is_chosen(cli: Cli, project: Path, program: str) -> bool:
    """Whether the program gets its choice of MPS, by that rule alone."""
    return is_ported(cli, project, "", program, "--select", "MPS103")


@pytest.mark.parametrize(
    "part",
    [
        'row["y"]',
        'row.get("y", 0)',
        "x.mean().item()",
        "self.total(x).tolist()",
        "self.labels[i] / self.most",
        "sum(self.labels) / len(self.labels)",
        "self.shares[self.labels[i] % 2]",
        "np.array(self.labels)[i] / 10",
        "np.array(self.labels).mean()",
        "random.uniform(0, self.most)",
        "1 if i % 2 else 0.5",
        "self.foreign(i)",
    ],
)
def test_what_may_be_a_fraction_keeps_the_device_off_mps(
    cli: Cli, project: Path, part: str
) -> None:
    assert not is_chosen(cli, project, of(part))


@pytest.mark.parametrize(
    "part",
    [
        "self.labels[i]",
        "int(row['y'])",
        "len(row['x'])",
        "i",
        "i % 2 == 0",
        "self.sizes[i % 2]",
        "self.labels[i] // self.most",
        "np.array(self.labels)[i]",
        "np.float32(row['y'])",
        "np.array(row['z'], dtype=np.float32)",
        "torch.tensor(row['y'])",
        "self.total(x)",
        "random.randint(0, self.most)",
        "x.argmax().item()",
        "self.transform(picture)",
    ],
)
def test_what_is_none_lets_it_go_there(cli: Cli, project: Path, part: str) -> None:
    assert is_chosen(cli, project, of(part))


@pytest.mark.parametrize(
    "move",
    [
        "    y = y.float().to(device)\n",
        "    y = y.to(torch.float32).to(device)\n",
        "    y = y.to(device, torch.float32)\n",
        "    y = y.to(device=device, dtype=torch.float32)\n",
        "    y = y.float()\n    y = y.to(device)\n",
    ],
)
def test_what_is_cast_or_stays_lets_it_go_there(cli: Cli, project: Path, move: str) -> None:
    assert is_chosen(cli, project, of('row["y"]', move))


@pytest.mark.parametrize(
    "move",
    [
        "    y = y.to(device).long()\n",
        "    y = y.to(device=device, non_blocking=True)\n",
        "    y = y.view(-1).to(device)\n",
        "    y = torch.unsqueeze(y, 1).to(device)\n",
        "    z = y\n    y = z.to(device)\n",
    ],
)
def test_a_cast_behind_the_move_comes_too_late(cli: Cli, project: Path, move: str) -> None:
    assert not is_chosen(cli, project, of('row["y"]', move))


@pytest.mark.parametrize(
    "use",
    [
        "print(criterion(net(x), y))",
        "print(F.nll_loss(net(x), y.view(-1)))",
        "print(F.binary_cross_entropy(net(x)[:, 0], target=y))",
        "print(F.one_hot(y, 3))",
        "print(net(x).gather(1, y.unsqueeze(1)))",
        "print(net(x)[range(2), y])",
        "print(net.weight & y)",
        "print(net(x), net(y))",
    ],
)
def test_a_use_that_takes_no_float64_lets_it_go_there(cli: Cli, project: Path, use: str) -> None:
    assert is_chosen(cli, project, of('row["y"]', use=use))


@pytest.mark.parametrize(
    "use",
    [
        "print(F.mse_loss(net(x)[:, 0], y))",
        "print(F.l1_loss(net(x)[:, 0], y))",
        "print(F.binary_cross_entropy_with_logits(net(x)[:, 0], y))",
        "print(criterion(net(x), y.long()))",
        "print(net(x).argmax(1) == y)",
    ],
)
def test_a_use_that_takes_float64_says_nothing(cli: Cli, project: Path, use: str) -> None:
    assert not is_chosen(cli, project, of('row["y"]', use=use))


def test_what_is_a_fraction_for_sure_may_be_cast_by_the_network(cli: Cli, project: Path) -> None:
    assert not is_chosen(cli, project, of("float(i)", use="print(net(x), net(y))"))


def test_a_network_that_casts_what_it_is_given_says_nothing(cli: Cli, project: Path) -> None:
    net = "\n\nclass Net(torch.nn.Linear):\n    def forward(self, x):\n"
    fed = of('row["y"]', use="print(net(x), net(y))").replace("torch.nn.Linear(2", "Net(2")
    for body, chosen in (("x", True), ("x.float()", False), ("x.to(torch.float32)", False)):
        own = f"{net}        return super().forward({body})\n\n\ndevice ="
        assert is_chosen(cli, project, fed.replace("\ndevice =", own)) == chosen


def test_a_name_of_two_losses_is_that_of_none(cli: Cli, project: Path) -> None:
    program = of('row["y"]', use="print(criterion(net(x)[:, 0], y))")
    other = program.replace("for x, y", "criterion = torch.nn.MSELoss()\nfor x, y", 1)
    assert not is_chosen(cli, project, other)


@pytest.mark.parametrize("collate", ["", ", collate_fn=lambda rows: rows"])
def test_batches_that_the_program_puts_together_are_its_own(
    cli: Cli, project: Path, collate: str
) -> None:
    program = of('row["y"]').replace("batch_size=2", f"batch_size=2{collate}")
    assert is_chosen(cli, project, program) == bool(collate)


def test_a_return_that_is_annotated_tells(cli: Cli, project: Path) -> None:
    program = of('row["y"]')
    assert is_chosen(
        cli,
        project,
        program.replace("__getitem__(self, i)", "__getitem__(self, i) -> tuple[torch.Tensor, int]"),
    )


def test_batches_of_another_data_set_tell_nothing(cli: Cli, project: Path) -> None:
    other = "from torchvision.datasets import MNIST\n" + of('row["y"]').replace(
        'Rows("rows.json", None)', 'MNIST("data")'
    )
    assert is_chosen(cli, project, other)


def test_what_stays_on_the_host_says_nothing(cli: Cli, project: Path) -> None:
    assert is_chosen(cli, project, of('row["y"]', "", "print(net(x).cpu()[:, 0] - y)"))


def test_a_line_that_ran_on_cuda_alone_is_mended_in_doubt(cli: Cli, project: Path) -> None:
    lines = of('row["y"]').replace(".to(device)", ".cuda()").splitlines(keepends=True)
    alone = [line for line in lines if not line.startswith("device = ")]
    (project / "train.py").write_text("".join(alone))
    assert "No safe fixes" not in cli("check", ".").out


ENGINE = """\
def train(model, loader, device):
    model.train()
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        print(model(x)[:, 0] - y)
"""
SUMS = """\
from torch.utils.data import Dataset


class Sums(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        x = torch.ones(2)
        return x, x.sum().item()
"""
ASKS = """\
import torch
from torch.utils.data import DataLoader

from engine import train
from sums import Sums

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = torch.nn.Linear(2, 3).to(device)
train(net, DataLoader(Sums()), device)
"""


def test_a_loop_of_another_file_goes_over_what_a_program_gives_it(cli: Cli, project: Path) -> None:
    (project / "engine.py").write_text(ENGINE)
    (project / "sums.py").write_text(f"import torch\n{SUMS}")
    assert not is_ported(cli, project, "", ASKS)


def test_it_is_no_concern_of_a_program_with_another_data_set(cli: Cli, project: Path) -> None:
    (project / "engine.py").write_text(ENGINE)
    (project / "sums.py").write_text(f"import torch\n{SUMS}")
    (project / "other.py").write_text(ASKS)
    own = ASKS.replace("from sums import Sums\n", "from torch.utils.data import TensorDataset\n")
    own = own.replace("Sums()", "TensorDataset(torch.ones(4, 2), torch.ones(4))")
    assert is_ported(cli, project, "", own)


def test_of_several_loaders_each_has_its_own_parts(cli: Cli, project: Path) -> None:
    program = of('row["y"]', use="print(net(x)[:, 0] - y.cpu())", move="    y = y.cpu()\n")
    two = program.replace("for x, y in DataLoader(", "for (x, _), y in zip(DataLoader(")
    two = two.replace("batch_size=2):", "batch_size=2), [net]):\n    y.to(device)")
    assert is_chosen(cli, project, two.replace("y.cpu()", "1"))
    other = two.replace("(x, _), y", "(x, y), _").replace("y.cpu()", "y")
    assert not is_chosen(cli, project, other)


def test_what_goes_over_the_keys_of_a_batch_moves_none_of_it(cli: Cli, project: Path) -> None:
    program = of('row["y"]').replace('return x, row["y"]', 'return {"x": x, "y": row["y"]}')
    start = program.index("for x, y in")
    loop = "for batch in DataLoader(Rows('rows.json', None)):\n"
    loop += "    batch = [x.to(device) for x in batch]\n"
    assert is_chosen(cli, project, program[:start] + loop)
    table = loop.replace("in batch]", "in batch.values()]")
    assert not is_chosen(cli, project, program[:start] + table)


LOADER = "\n\ndef loader():\n    return DataLoader(Series(), batch_size=2)\n"
TRAINS = """\
import torch

from data import loader
from engine import train

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = torch.nn.Linear(8, 8).to(device)
train(net, loader(), device)
"""
MOVES = """\
def train(net, batches, device):
    for values, mask in batches:
        mask = mask.to(device)
        print((net(values.to(device)) * mask).sum())
"""


def test_a_data_set_that_another_file_makes_is_that_of_a_program_that_names_none(
    cli: Cli, project: Path
) -> None:
    (project / "engine.py").write_text(MOVES)
    data = DATA.replace("import Dataset", "import DataLoader, Dataset") + LOADER
    only = ("--select", "MPS103")
    assert not is_ported(cli, project, data, TRAINS, *only)
    narrow = data.replace("np.ones(8)", "np.ones(8, dtype=np.float32)")
    assert is_ported(cli, project, narrow, TRAINS, *only)
