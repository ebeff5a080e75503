"""What stands behind a name that nobody defines runs on no machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.linter import lint
from mpslint.neighbours import Neighbours
from mpslint.settings import Settings
from mpslint.source import SourceFile

_LOADS = """\
import torch
{imported}

def load(path, flag=None):
    {before}
    net = torch.load(path, map_location="cpu")
    return net.cuda()


print(load(1))
"""


def _told(folder: Path, before: str, imported: str = "") -> bool:
    path = folder / "load.py"
    path.write_text(_LOADS.format(before=before, imported=imported))
    settings = Settings(select=("MPS102",))
    source = SourceFile(str(path), path.read_bytes())
    return bool(lint(source, settings, elsewhere=Neighbours(settings)))


@pytest.mark.parametrize(
    "before",
    [
        "net = build_network(path)",
        "print(Config)",
        "if build(path): print(1)",
        "for item in build(path): print(item)",
        "net = [item for item in build(path)]",
    ],
)
def test_a_name_that_nobody_defines_ends_the_run(tmp_path: Path, before: str) -> None:
    assert not _told(tmp_path, before)


@pytest.mark.parametrize(
    ("before", "imported"),
    [
        ("net = build_network(path)", "from networks import build_network"),
        ("net = build_network(path)", "from networks import *"),
        ("net = build_network(path)", "globals().update(torch.__dict__)"),
        ("net = path or build_network(path)", ""),
        ("net = build_network(path) if flag else path", ""),
        ("make = lambda: build_network(path)", ""),
        ("net = [build_network(item) for item in path]", ""),
        ("if flag: build_network(path)", ""),
        ("while flag: flag = build_network(path)", ""),
        ("print([item for item in xrange(3)])", ""),
        ("display(path)", ""),
        ("print(__file__, __name__, len(path))", ""),
    ],
)
def test_what_may_be_defined_or_left_out_does_not(
    tmp_path: Path, before: str, imported: str
) -> None:
    assert _told(tmp_path, before, imported)


def test_what_stands_before_it_runs(tmp_path: Path) -> None:
    path = tmp_path / "load.py"
    path.write_text("import torch\n\nnet = torch.ones(2).cuda()\nprint(missing)\n")
    settings = Settings(select=("MPS102",))
    source = SourceFile(str(path), path.read_bytes())
    assert lint(source, settings, elsewhere=Neighbours(settings))
