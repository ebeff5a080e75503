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
