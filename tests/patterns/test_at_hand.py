"""The device of a tensor, or a name that is there, goes before a selection of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.notebook.source import NotebookSource
from mpslint.sources.source import SourceFile


def fixed(text: str) -> str:
    return fix_source(SourceFile("train.py", text.encode()), Settings()).text


ONE_HOT = """\
import torch


def one_hot(x, num_classes, on_value=1., off_value=0., device='cuda'):
    x = x.long().view(-1, 1)
    return torch.full((x.size()[0], num_classes), off_value, device=device).scatter_(1, x, on_value)
"""


def test_a_default_follows_the_tensor_that_what_is_made_meets() -> None:
    text = fixed(ONE_HOT)
    assert (
        "off_value=0., device=None):\n    if device is None:\n        device = x.device\n" in text
    )
    assert "is_available" not in text
    assert fixed(text) == text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (".scatter_(1, x, on_value)", ""),  # it meets nothing
        ("    x = x.long()", "    x = x.to(device).long()"),  # it is moved there itself
        ("    return", "    print(device)\n    return"),  # it is wanted for something else as well
        ("device='cuda'", "device: str = 'cuda'"),  # it may not be None
    ],
)
def test_a_default_that_is_for_more_does_not(old: str, new: str) -> None:
    assert "x.device" not in fixed(ONE_HOT.replace(old, new))


PADDED = """\
import torch
import torch.nn.functional as F


def padded(*args):
    if len(args) == 2:
        mask, conv = args
        return F.conv2d(mask.clone().float(), torch.ones(1, 1, *conv.kernel_size).cuda())
    mask, k, s = args
    return F.conv2d(mask.clone().float(), torch.ones(1, 1, k, k).cuda(), stride=s)
"""


def test_a_weight_goes_where_its_input_is_whatever_gave_that_its_name() -> None:
    text = fixed(PADDED)
    assert text.count(".to(mask.device)") == 2
    assert "is_available" not in text


def test_an_input_that_is_moved_shows_nothing() -> None:
    text = fixed(PADDED.replace("mask.clone().float()", "mask.float().cuda()"))
    assert "mask.device" not in text


CALLED = """\
import torch

if __name__ == "__main__":
    net = torch.nn.Linear(2, 2)
    device = ("cuda" if torch.cuda.is_available() else "cpu")
    net = net.to(device)

    def run(sample):
        return net(sample["x"].cuda())

    print(run({"x": torch.ones(1, 2)}))
"""


def test_a_function_below_the_device_of_its_program_uses_that() -> None:
    text = fixed(CALLED)
    assert 'net(sample["x"].to(device))' in text
    assert "torch_device" not in text


def test_one_above_it_does_not() -> None:
    above = "def run(sample):\n    return net(sample['x'].cuda())\n\n\n"
    text = fixed(CALLED.replace("\n\nif __name__", f"\n\n\n{above}if __name__"))
    assert ".to(device)" not in text.partition("if __name__")[0]


GIVEN = """\
import torch


def compute(net, device=None):
    if device is not None:
        assert device in ["gpu", "cpu", "cuda"]
        if device == "gpu":
            device = "cuda"
    else:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    return net.to(device)
"""


def test_both_choices_of_a_function_for_one_name_come_to_know_mps() -> None:
    text = fixed(GIVEN)
    assert text.count("torch.backends.mps.is_available()") == 2
    assert fixed(text) == text


def test_a_choice_for_another_name_is_its_own() -> None:
    other = GIVEN.replace(
        '    else:\n        device = "cuda"', '    else:\n        device = "cpu"\n    kind = "cuda"'
    )
    assert 'kind = "cuda" if torch.cuda.is_available() else "cpu"' in fixed(other)


PROBES = """\
import torch
try:
    from apex import amp
    has_apex = True
except ImportError:
    has_apex = False

has_native_amp = False
try:
    if getattr(torch.cuda.amp, 'autocast') is not None:
        has_native_amp = True
except AttributeError:
    pass

SIZE = 2
net = torch.nn.Linear(SIZE, 2).cuda()
"""


def test_a_selection_stands_behind_what_asks_for_parts_of_torch() -> None:
    before, _, after = fixed(PROBES).partition("    pass\n")
    assert "is_available" not in before
    assert after.startswith("\nif ")


def test_a_notebook_selects_in_the_cell_that_imports_torch(tmp_path: Path) -> None:
    cells = [
        "import torch",
        "import json\n\ndata = json.loads('{}')",
        "net = torch.nn.ReLU().cuda()\nprint(net(torch.ones(2).cuda()))",
    ]
    book = {
        "cells": [
            {
                "cell_type": "code",
                "metadata": {},
                "execution_count": None,
                "outputs": [],
                "source": cell.splitlines(keepends=True),
            }
            for cell in cells
        ],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    source = NotebookSource(str(tmp_path / "run.ipynb"), json.dumps(book, indent=1).encode())
    result = fix_source(source, Settings()).source
    assert isinstance(result, NotebookSource)
    texts = result.cell_texts()
    assert ["is_available" in texts[number] for number in sorted(texts)] == [True, False, False]


CLASS_AND_DEVICE = """\
import torch

{above}
class Bank(torch.nn.Module):
    def __init__(self, size=3, device="cuda"):
        super().__init__()
        self.bank = torch.zeros(size, device=device)


def store():
    return Bank(3)


{below}
bank = store()
print(torch.ones(3, device=device))
"""
_CHOICE = 'device = "cuda"\n'


def test_a_default_is_evaluated_where_it_stands_before_what_comes_below() -> None:
    text = fixed(CLASS_AND_DEVICE.format(above="", below=_CHOICE))
    assert "mps" in text
    assert "device=device):\n        super" not in text
    names = {"torch": torch}
    exec(compile(text, "train.py", "exec"), names)  # no name is asked for before it is there
    assert fixed(text) == text


def test_a_default_below_the_choice_of_its_file_uses_that() -> None:
    text = fixed(CLASS_AND_DEVICE.format(above=_CHOICE, below=""))
    assert "def __init__(self, size=3, device=device):" in text
