"""What a check makes is given back by itself, so that memory does not grow with the files."""

from __future__ import annotations

import ast
import gc
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import FIXTURES

from mpslint.basics import collector
from mpslint.checking.linter import lint
from mpslint.folders.discovery import Target
from mpslint.rules.registry import all_rules
from mpslint.running.runner import check_all
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile
from mpslint.together.promised import as_promised

ALL = Settings(select=("ALL",))
FILES = sorted((FIXTURES / "rules").glob("*/*.py"))


@pytest.fixture
def no_collector() -> Iterator[None]:
    for rule in all_rules():
        assert rule.check
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
def test_no_tree_outlives_the_check_of_its_file() -> None:
    before = trees()
    tree = SourceFile.from_text("x = 1\n").parse()
    assert trees() == before + 1
    del tree
    for path in FILES:
        lint(SourceFile(str(path), path.read_bytes()), ALL)
    assert trees() == before


@pytest.mark.usefixtures("no_collector")
def test_no_tree_of_a_project_outlives_its_check(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(
        "import torch\n\nDEVICE = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n"
        "\n\ndef made():\n    return torch.nn.Linear(2, 2).cuda()\n"
    )
    (tmp_path / "train.py").write_text(
        "import torch\nfrom nets import DEVICE, made\n\n"
        "net = made()\nprint(net(torch.zeros(2).to(DEVICE)))\n"
    )
    settings = Settings(root=str(tmp_path))
    targets = [Target(str(path), settings, False) for path in sorted(tmp_path.iterdir())]
    before = trees()
    results = check_all(targets, jobs=1, cache=False, with_fixes=False)
    assert trees() == before
    as_promised(results, targets)
    assert trees() == before
    assert sum(len(one.findings) for one in results) > 1


def trees() -> int:
    return sum(isinstance(thing, ast.Module) for thing in gc.get_objects())


def test_the_collector_is_off_while_files_are_checked_and_on_again_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = []
    monkeypatch.setattr(collector, "checked", lambda size: states.append((gc.isenabled(), size)))
    path = tmp_path / "a.py"
    path.write_text("import torch\n")
    check_all([Target(str(path), Settings(), False)], cache=False, with_fixes=False)
    assert states == [(False, 13)]
    assert gc.isenabled()


def test_cycles_would_be_collected_after_a_bounded_number_of_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = []
    monkeypatch.setattr(collector, "_since", 0)
    monkeypatch.setattr(gc, "collect", lambda: runs.append(1))
    for _ in range(100):
        collector.checked(1_000_000)
    assert len(runs) == 3


MEASURED = """
import resource, sys
from mpslint.cli import run
run(["check", "--isolated", "--no-cache", "--jobs", "1", "-q", "--select", "MPS8", sys.argv[1]])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_the_peak_of_memory_does_not_grow_with_the_number_of_files(tmp_path: Path) -> None:
    code = "import torch\n\n\ndef step(model, x):\n    y = model(x).cuda()\n    return y.item()\n"
    peaks = []
    for count in (5, 100):
        folder = tmp_path / str(count)
        folder.mkdir()
        for number in range(count):
            (folder / f"f{number}.py").write_text(code * 100)
        ran = subprocess.run(
            [sys.executable, "-c", MEASURED, str(folder)],
            capture_output=True,
            text=True,
            check=True,
        )
        peaks.append(int(ran.stdout.split()[-1]))
    few, many = peaks
    assert many < 1.2 * few
