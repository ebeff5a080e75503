"""What a legacy CUDA tensor type is said to do depends on how it is used."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

CALLED = "raises TypeError"
CAST = "raises RuntimeError"
NAMED = "not available where there is no CUDA"
CHOSEN = "chosen by CUDA alone"
FOLLOWS = "follows is_cuda"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("y = torch.cuda.FloatTensor(3)", CALLED),
        ("y = f(out=torch.cuda.LongTensor(3))", CALLED),
        ("y = x.type(torch.cuda.FloatTensor)", CAST),
        ("y = x.type(dtype=torch.cuda.FloatTensor)", CAST),
        ('y = x.type("torch.cuda.FloatTensor")', CAST),
        ("kind = torch.cuda.FloatTensor", NAMED),
        ("y = make(torch.cuda.FloatTensor)", NAMED),
        ("y = (torch.cuda.FloatTensor if cuda else torch.FloatTensor)(3)", CHOSEN),
        ("y = (torch.cuda.FloatTensor if x.is_cuda else torch.FloatTensor)(3)", FOLLOWS),
    ],
)
def test_the_message_names_the_error_of_this_use(line: str, said: str) -> None:
    program = f"import torch\n\n\ndef f(x, cuda):\n    {line}\n    return y, kind\n"
    (finding,) = lint(SourceFile("program.py", program.encode()), Settings(select=("MPS111",)))
    assert finding.message.startswith(said)


BEAM = """\
import torch


class Beam:
    def __init__(self, size):
        self.tt = {module}
        self.scores = self.tt.FloatTensor(size).zero_()

    def state(self, last):
        return self.tt.LongTensor(last)
"""


@pytest.mark.parametrize(("module", "rows"), [("torch.cuda", [7, 10]), ("torch", [])])
def test_a_module_that_an_object_keeps_makes_its_types(module: str, rows: list[int]) -> None:
    program = BEAM.format(module=module)
    found = lint(SourceFile("program.py", program.encode()), Settings(select=("MPS111",)))
    assert [finding.row for finding in found] == rows
    assert all(finding.message.startswith(CALLED) for finding in found)
