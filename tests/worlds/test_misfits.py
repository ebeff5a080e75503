"""A call that does not fit what it calls raises `TypeError` on every machine: what follows runs on
none, and nothing of it is told. What is not certain ends nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.worlds.conftest import told_in_project

NET = """\
from torch import nn

class Net(nn.Module):
    def __init__(self, width, depth, *, bias=True):
        super().__init__()
        self.layer = nn.Linear(width, depth, bias)
"""
PROGRAM = """\
import torch
from net import Net

model = {call}
torch.ones(1).cuda()
"""
AROUND = """\
import torch
from net import Net

def make():
{body}

make()
torch.ones(1).cuda()
"""
MISFITS = (
    "Net()",
    "Net(1)",
    "Net(1, 2, 3)",
    "Net(1, 2, False)",
    "Net(1, width=2)",
    "Net(width=1)",
    "Net(1, 2, scale=3)",
)
FITTING = (
    "Net(1, 2)",
    "Net(depth=1, width=2)",
    "Net(1, 2, bias=False)",
    "Net(*sizes)",
    "Net(1, **options)",
    "sizes and Net(1)",
    "[Net(1) for _ in sizes]",
    "(lambda: Net(1))",
)


def told(cli: Cli, **files: str) -> bool:
    """Whether the move to CUDA behind the call is told."""
    texts = {"README.md": "A program.\n", "net.py": NET}
    texts.update({f"{name}.py": text for name, text in files.items()})
    return "train.py" in {name for name, _, _ in told_in_project(cli, texts)}


@pytest.mark.parametrize("call", MISFITS)
def test_nothing_is_told_behind_a_call_that_does_not_fit(
    cli: Cli, project: Path, call: str
) -> None:
    assert not told(cli, train=PROGRAM.format(call=call))


@pytest.mark.parametrize("call", FITTING)
def test_what_may_fit_ends_nothing(cli: Cli, project: Path, call: str) -> None:
    program = "import sys\nsizes, options = sys.argv, dict(depth=len(sys.argv))\n"
    assert told(cli, train=program + PROGRAM.format(call=call))


def test_a_function_of_the_file_itself_is_compared_as_well(cli: Cli, project: Path) -> None:
    program = "import torch\n\ndef make(width):\n    return torch.nn.Linear(width, 1)\n\n"
    assert told(cli, train=program + "make(1).cuda()\n")
    assert not told(cli, train=program + "make()\ntorch.nn.Linear(1, 1).cuda()\n")


@pytest.mark.parametrize("held", ["Samples()", "Subset(Samples(), [0])"])
def test_a_loader_does_not_call_what_collates_with_its_own_arguments(
    cli: Cli, project: Path, held: str
) -> None:
    samples = (
        "import torch\nfrom torch.utils.data import Dataset\n\n"
        "class Samples(Dataset):\n"
        "    def __getitem__(self, at):\n        return at, torch.ones(3)\n\n"
        "def collate(batch):\n    return torch.stack([item for _, item in batch])\n"
    )
    program = (
        "import torch\nfrom torch.utils.data import DataLoader, Subset\n"
        "from samples import Samples, collate\n\n"
        f"loader = DataLoader({held}, batch_size=4, collate_fn=collate)\n"
        "torch.ones(1).cuda()\n"
    )
    assert told(cli, samples=samples, train=program)


@pytest.mark.parametrize(
    "net",
    [
        NET.replace("class Net", "@register\nclass Net"),
        NET.replace("    def __init__", "    @configurable\n    def __init__"),
        NET.replace("nn.Module", "nn.Module, Mixin"),
        NET.replace("(nn.Module)", "(nn.Module, metaclass=Configured)"),
        NET + "    def __new__(cls, *args):\n        return object.__new__(cls)\n",
        NET + "\nNet = partial(Net, 1, 2)\n",
        NET + "\nclass Net(Net):\n    def __init__(self):\n        super().__init__(1, 2)\n",
        NET + "\nNet.__init__ = other\n",
        NET + "\nfrom more import *\n",
        NET + "\nglobals()[name] = other\n",
        NET + "\ndef __getattr__(name):\n    global Net\n    Net = other\n",
    ],
)
def test_a_name_that_may_stand_for_more_ends_nothing(cli: Cli, project: Path, net: str) -> None:
    assert told(cli, net=net, train=PROGRAM.format(call="Net(1)"))


@pytest.mark.parametrize(
    "other",
    [
        "import net\nnet.Net = lambda width: None\n",
        "import net\nsetattr(net, 'Net', lambda width: None)\n",
        "from unittest.mock import patch\npatch('net.Net')\n",
        "for name in ('Net', 'Loss'):\n    setattr(net, name, wrapped(name))\n",
        "for name in dir(net):\n    setattr(net, name, wrapped(getattr(net, name)))\n",
        "def widen(cls):\n    cls.__init__ = lambda self, width: None\n",
        "import sys\nsys.modules['net'] = other\n",
        "import net\nnet.Net.__init__.__defaults__ = (1,)\n",
        "class Base:\n    def __init_subclass__(cls):\n        setattr(cls, '__init__', f)\n",
    ],
)
def test_what_another_file_may_replace_ends_nothing(cli: Cli, project: Path, other: str) -> None:
    assert told(cli, other=other, train=PROGRAM.format(call="Net(1)"))


@pytest.mark.parametrize(
    "body",
    [
        "    try:\n        Net(1)\n    except TypeError:\n        pass",
        "    try:\n        Net(1)\n    except Exception as error:\n        print(error)",
        "    try:\n        Net(1)\n    except:\n        return",
        "    try:\n        Net(1)\n    finally:\n        return",
        "    with suppress(TypeError):\n        Net(1)",
        "    with pytest.raises(TypeError):\n        Net(1)",
        "    with ignored():\n        Net(1)",
        "    if name:\n        Net(1)",
        "    for _ in names:\n        Net(1)",
        "    assert Net(1)",
        "    yield Net(1)",
    ],
)
def test_an_error_that_may_not_come_or_be_caught_ends_nothing(
    cli: Cli, project: Path, body: str
) -> None:
    assert told(cli, train=AROUND.format(body=body))


@pytest.mark.parametrize(
    "body",
    [
        "    Net(1)",
        "    with torch.no_grad():\n        Net(1)",
        "    try:\n        Net(1)\n    except ImportError:\n        pass",
    ],
)
def test_a_function_that_ends_so_ends_who_calls_it(cli: Cli, project: Path, body: str) -> None:
    assert not told(cli, train=AROUND.format(body=f"{body}\n    torch.ones(1)"))


def test_a_decorator_may_catch_the_error_of_its_function(cli: Cli, project: Path) -> None:
    text = AROUND.format(body="    Net(1)").replace("def make", "@tolerant\ndef make")
    assert told(cli, train=text)


TOLERANT = """\
import torch


def tolerant(function):
    def inner(*given):
        try:
            return function(*given)
        except TypeError:
            HANDLED

    return inner


@tolerant
def build():
    raise TypeError("no more")


build()
torch.ones(1).cuda()
"""


def test_a_decorator_of_the_file_that_goes_on_catches_any_error(cli: Cli, project: Path) -> None:
    assert told(cli, train=TOLERANT.replace("HANDLED", "return None"))


def test_a_decorator_of_the_file_that_gives_up_catches_none(cli: Cli, project: Path) -> None:
    assert not told(cli, train=TOLERANT.replace("HANDLED", "raise SystemExit(1)"))


def test_a_method_that_others_may_override_ends_nobody(cli: Cli, project: Path) -> None:
    program = """\
import torch
from net import Net

class Trainer:
    def build(self):
        self.net = Net(1)
        self.device = "cuda"

    def run(self):
        self.build()
        torch.ones(1).cuda()
"""
    assert told(cli, train=program)


def test_another_module_of_the_name_may_be_meant(cli: Cli, project: Path) -> None:
    program = PROGRAM.format(call="Net(1)")
    texts = {
        "README.md": "A program.\n",
        "a/net.py": NET,
        "b/net.py": NET.replace(", depth", ", depth=1"),
        "a/train.py": program,
    }
    assert not told_in_project(cli, texts)
    texts["start.py"] = "import sys\nsys.path.append('b')\nimport a.train\n"
    assert told_in_project(cli, texts)


def test_a_package_of_somebody_else_may_be_meant(cli: Cli, project: Path) -> None:
    texts = {
        "README.md": "A program.\n",
        "main.py": "from parts.train import model\n\nprint(model)\n",
        "parts/net.py": NET,
        "parts/train.py": PROGRAM.format(call="Net(1)"),
    }
    assert told_in_project(cli, texts)


def test_cells_are_run_one_by_one(cli: Cli, project: Path) -> None:
    assert told(cli, train="# %%\n" + PROGRAM.format(call="Net(1)"))
