"""A dtype is written only for what has it: what has another one on some way, or may be given one in
a table of options, keeps what it has."""

from __future__ import annotations

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

CHOSEN = """\
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
"""
ROWS = """
class Rows(Dataset):
    def __init__(self, n, halves):
        self.n, self.halves = n, halves

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        label = i % 2
        if self.halves:
            label = label / 2
        return np.full(3, i, np.float32), label


def run(halves):
    for x, y in DataLoader(Rows(16, halves), 8):
        y = y.to(device)


run(False)
run(True)
"""
TABLE = """
class Table:
    def __init__(self, wide=False):
        self.dtype = np.float64 if wide else np.float32
        self.rows = np.zeros((32, 3)).astype(self.dtype)

    def batch(self, at):
        return torch.from_numpy(self.rows[at : at + 8])


x = Table().batch(0)
x = x.to(device)
"""
ARMS = """
def moved(wide):
    if wide:
        rows = np.zeros(3)
    else:
        rows = np.zeros(3, np.float32)
    rows = torch.from_numpy(rows)
    return rows.to(device)
"""


def fixed(text: str) -> str:
    return fix_source(SourceFile("program.py", (CHOSEN + text).encode()), Settings()).text


@pytest.mark.parametrize(
    ("text", "name"), [(ROWS, "y"), (TABLE, "x"), (ARMS, "rows")], ids=["number", "choice", "arms"]
)
def test_what_is_float64_on_some_way_is_asked(text: str, name: str) -> None:
    made = fixed(text)
    assert f'if device.type == "mps" and {name}.dtype == torch.float64' in " ".join(made.split())
    assert "else torch.float64" not in made


def test_what_is_float64_on_each_way_is_cast_unasked() -> None:
    made = fixed(ARMS.replace("np.zeros(3, np.float32)", "np.ones(3)"))
    assert 'dtype=torch.float32 if device.type == "mps" else torch.float64' in made


@pytest.mark.parametrize(
    "options", ['{"dtype": torch.float64}', "dict(dtype=torch.float64)", "options_of_somebody()"]
)
def test_a_call_with_a_table_of_options_gets_no_second_dtype(options: str) -> None:
    text = f"OPTIONS = {options}\nx = torch.tensor(np.zeros(3), device=device, **OPTIONS)\n"
    assert fixed(text) == CHOSEN + text
