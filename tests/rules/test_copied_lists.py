"""Lists of tensors that are copied to the CPU, at once or one by one, before NumPy reads them."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

PROGRAM = """\
import torch

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
outs = []
for _ in range(3):
    outs.append(torch.rand(2, device=device))
{}
print([o.numpy() for o in outs], outs[0].numpy())
"""


def told(between: str) -> bool:
    text = PROGRAM.format(between)
    found = lint(SourceFile("program.py", text.encode()), Settings())
    return any(one.code == "MPS301" for one in found)


@pytest.mark.parametrize(
    "between",
    [
        "outs = [o.cpu() for o in outs]",
        "outs = tuple(o.cpu() for o in outs)",
        "for i, o in enumerate(outs):\n    outs[i] = o.cpu()",
        "for i in range(len(outs)):\n    outs[i] = outs[i].cpu()",
    ],
)
def test_a_list_that_was_copied_holds_tensors_of_the_cpu(between: str) -> None:
    assert not told(between)


@pytest.mark.parametrize(
    "between",
    [
        "outs = [o.detach() for o in outs]",
        "copies = [o.cpu() for o in outs]",
        "for i, o in enumerate(outs):\n    outs[i] = o.detach()",
    ],
)
def test_a_list_that_stays_on_the_device_is_told(between: str) -> None:
    assert told(between)


WRITTEN = """\
import torch

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
xs = [torch.ones(2, device=device), torch.ones(2, device=device)]
xs[0] = xs[0].cpu()
print(xs[{}].numpy())
"""


@pytest.mark.parametrize(("item", "count"), [(0, 0), (-2, 0), (1, 1)])
def test_of_a_list_the_item_that_was_replaced_is_another_one(item: int, count: int) -> None:
    found = lint(SourceFile("program.py", WRITTEN.format(item).encode()), Settings())
    assert sum(one.code == "MPS301" for one in found) == count
