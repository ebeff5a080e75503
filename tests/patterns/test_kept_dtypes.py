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


def fixed(text: str) -> str:
    return fix_source(SourceFile("program.py", (CHOSEN + text).encode()), Settings()).text


@pytest.mark.parametrize(
    "options", ['{"dtype": torch.float64}', "dict(dtype=torch.float64)", "options_of_somebody()"]
)
def test_a_call_with_a_table_of_options_gets_no_second_dtype(options: str) -> None:
    text = f"OPTIONS = {options}\nx = torch.tensor(np.zeros(3), device=device, **OPTIONS)\n"
    assert fixed(text) == CHOSEN + text
