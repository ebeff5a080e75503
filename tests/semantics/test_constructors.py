"""What a module's constructor computes is on the CPU: the module is moved when it has been made."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

MIXTURE = """\
import numpy as np
import torch


class Mixture({base}):
    def __init__(self, spread, device, given):
        super().__init__()
        {before}
        {kept}
        values, vectors = torch.linalg.eigh({solved})
        self.register_buffer("values", values)

    def forward(self, x):
        {later}
        return x


print(Mixture([[1.0]], "cuda", 2).to("cuda"))
"""
MADE = 'self.register_buffer("spread", torch.tensor(np.asarray(spread)))'
INITIALIZERS = """\
import torch


def grid(tensor, start=-1):
    with torch.no_grad():
        tensor.copy_(torch.logspace(start, 0, tensor.shape[1], device=tensor.device))
    return tensor


def chosen(name):
{chosen}
    return fill


print(torch.rand(2, 3).cuda())
{more}
"""


def _rows(program: str) -> list[int]:
    found = lint(SourceFile("model.py", program.encode()), Settings(select=("MPS501",)))
    return [finding.row for finding in found]


def _is_told(
    kept: str = MADE,
    solved: str = "self.spread",
    base: str = "torch.nn.Module",
    before: str = "pass",
    later: str = "pass",
) -> bool:
    program = MIXTURE.format(kept=kept, solved=solved, base=base, before=before, later=later)
    return bool(_rows(program))


@pytest.mark.parametrize(
    ("kept", "solved"),
    [
        (MADE, "self.spread"),
        (MADE, "self.spread + self.spread.T"),
        (f"{MADE}; spread = self.spread[0]", "spread"),
        ("self.spread = torch.eye(3)", "self.spread"),
        ("self.spread = torch.eye(3); self.spread = self.spread * 2", "self.spread"),
    ],
)
def test_what_a_constructor_has_made_without_a_device_is_on_the_cpu(kept: str, solved: str) -> None:
    kept = kept.replace("; ", "\n        ")
    assert not _is_told(kept, solved)


@pytest.mark.parametrize(
    ("kept", "solved"),
    [
        ("self.spread = torch.eye(3, device=device)", "self.spread"),
        ("self.spread = given", "self.spread"),
        (f"{MADE}; spread = self.spread.to(device)", "spread"),
        (f"{MADE}; self.to(device)", "self.spread"),
        (f"{MADE}; spread = given", "spread"),
        ("self.spread = torch.eye(3); self.spread = given", "self.spread"),
    ],
)
def test_what_it_was_given_or_has_moved_may_be_anywhere(kept: str, solved: str) -> None:
    kept = kept.replace("; ", "\n        ")
    assert _is_told(kept, solved)


def test_where_torch_puts_all_on_a_device_so_does_the_constructor() -> None:
    assert _is_told(before="torch.set_default_device(device)")


def test_what_the_forward_pass_computes_is_where_the_module_is() -> None:
    assert _is_told("self.spread = torch.eye(3)", "given", later="torch.linalg.eigh(self.spread)")
    later = "torch.linalg.eigh(self.spread)"
    program = MIXTURE.format(
        kept=MADE, solved="self.spread", base="torch.nn.Module", before="pass", later=later
    )
    assert _rows(program) == [14]


@pytest.mark.parametrize(
    "chosen",
    [
        "    fill = torch.nn.init.zeros_\n    if name == 'grid':\n        fill = grid",
        "    fill = {'zeros': torch.nn.init.zeros_, 'grid': grid}[name]",
    ],
)
def test_an_initializer_fills_what_was_not_moved_yet(chosen: str) -> None:
    assert _rows(INITIALIZERS.format(chosen=chosen, more="")) == []
    more = "grid(torch.rand(2, 3).cuda())"
    assert _rows(INITIALIZERS.format(chosen=chosen, more=more)) == [6]


def test_what_stands_beside_no_initializer_of_torch_is_none() -> None:
    assert _rows(INITIALIZERS.format(chosen="    fill = grid if name else None", more="")) == [6]
