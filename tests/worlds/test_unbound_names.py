"""A name that stands for nothing raises `NameError` on every machine: what follows runs on none,
and nothing of it is told. What is not certain ends nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.worlds.conftest import told_in_project

PROGRAM = """\
import torch

def train(net):
    {line}
    net.cuda()

train(torch.nn.Linear(1, 1))
"""


def told(cli: Cli, train: str, **files: str) -> bool:
    """Whether the move to CUDA behind the name is told."""
    texts = {"README.md": "A program.\n", "train.py": train}
    texts.update({f"{name}.py": text for name, text in files.items()})
    return "train.py" in {name for name, _, _ in told_in_project(cli, texts)}


@pytest.mark.parametrize(
    "line",
    [
        "head = Head(3)",
        "head = heads.Head(3)",
        "print(head)",
        "net.register(Head)",
        "with torch.no_grad():\n        Head(3)",
        "try:\n        Head(3)\n    except ImportError:\n        pass",
    ],
)
def test_nothing_is_told_behind_a_name_that_stands_for_nothing(
    cli: Cli, project: Path, line: str
) -> None:
    assert not told(cli, PROGRAM.format(line=line))


@pytest.mark.parametrize(
    "line",
    [
        "print(net)",
        "print(__file__)",
        "net or Head(3)",
        "[Head(3) for _ in net.sizes]",
        "Head = torch.nn.Linear; Head(3)",
        "if net.training:\n        Head(3)",
        "for width in net.sizes:\n        Head(width)",
        "try:\n        Head(3)\n    except NameError:\n        pass",
        "try:\n        Head(3)\n    except Exception:\n        pass",
        "make: Head = None",
        "make = lambda: Head(3)",
        "for _ in xrange(3):\n        pass",
        "display(net)",
    ],
)
def test_what_may_be_there_or_never_asked_for_ends_nothing(
    cli: Cli, project: Path, line: str
) -> None:
    assert told(cli, PROGRAM.format(line=line))


@pytest.mark.parametrize(
    "more",
    [
        "from heads import *\n",
        "globals()['Head'] = torch.nn.Linear\n",
        "exec(open('heads.py').read())\n",
        "def prepare():\n    global Head\n    Head = torch.nn.Linear\n",
    ],
)
def test_a_file_that_may_give_itself_names_ends_nothing(cli: Cli, project: Path, more: str) -> None:
    assert told(cli, more + PROGRAM.format(line="head = Head(3)"))


@pytest.mark.parametrize(
    "other",
    [
        "import train\ntrain.Head = print\n",
        "import train\nsetattr(train, 'Head', print)\n",
        "import builtins\nbuiltins.Head = print\n",
        "import heads\nexec(open('train.py').read(), vars(heads))\n",
        "import runpy\nrunpy.run_path('train.py', {'Head': print})\n",
    ],
)
def test_what_another_file_may_put_there_ends_nothing(cli: Cli, project: Path, other: str) -> None:
    assert told(cli, PROGRAM.format(line="head = Head(3)"), other=other)


def test_cells_are_run_one_by_one(cli: Cli, project: Path) -> None:
    assert told(cli, "# %%\n" + PROGRAM.format(line="head = Head(3)"))
