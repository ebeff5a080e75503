"""A default that all calls replace does nothing; one that a single call leaves out does."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.project.layout.whole import _MOST_SEARCHED
from mpslint.project.neighbours import Neighbours
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile
from tests.conftest import Cli

HEAD = """\
import torch
from torch import nn
from torch.utils.data import DataLoader
"""
PROJECTED = """

class Encoder(nn.Module):
    def __init__(self, size, projected=128):
        super().__init__()
        self.rnn = nn.LSTM(size, size, proj_size=projected)


def made(size, projected=128):
    return nn.LSTM(size, size, proj_size=projected)
"""
PINNED = """

class Data:
    def __init__(self, items, pinned=True):
        self.loader = DataLoader(items, pin_memory=pinned)


class Loader(DataLoader):
    def __init__(self, items, pinned=True):
        super().__init__(items, pin_memory=pinned)


def loader(items, *, pinned=True):
    return DataLoader(items, pin_memory=pinned)
"""
CHOSEN = """

class Loss(nn.Module):
    def __init__(self, single, device="cuda" if torch.cuda.is_available() else "cpu"):
        super().__init__()
        self.device = device

    def forward(self, x):
        return x.to(self.device)
"""
GIVEN = [
    (PROJECTED, "Encoder(8, projected=0)"),
    (PROJECTED, "Encoder(8, 0)"),
    (PROJECTED, "made(8, projected=0)"),
    (PINNED, "Data([1], pinned=torch.cuda.is_available())"),
    (PINNED, "Data([1], torch.cuda.is_available())"),
    (PINNED, "Loader([1], torch.cuda.is_available())"),
    (PINNED, "loader([1], pinned=torch.cuda.is_available())"),
]
LEFT_OUT = [
    (PROJECTED, "Encoder(8)", "MPS507"),
    (PROJECTED, "made(8)", "MPS507"),
    (PINNED, "Data([1])", "MPS608"),
    (PINNED, "Loader([1])", "MPS608"),
    (PINNED, "loader([1])", "MPS608"),
]


def _tell(cli: Cli, project: Path, files: dict[str, str]) -> set[str]:
    (project / "README.md").write_text("A trainer.\n")
    for name, text in files.items():
        (project / name).write_text(text)
    ran = cli("check", "--output-format", "json", ".")
    return {found["code"] for found in json.loads(ran.out)} & {"MPS507", "MPS608"}


def _only(definitions: str, name: str) -> str:
    """The definition of this name, alone: what nobody calls is left out."""
    blocks = definitions.strip("\n").split("\n\n\n")
    named = {ast.parse(block).body[0].name: block for block in blocks}  # type: ignore[attr-defined]
    return named[name] + "\n"


def _program(definitions: str, calls: list[str], *, by_import: bool) -> dict[str, str]:
    """One file, or the definition and who imports it."""
    name = calls[0].partition("(")[0]
    made = f"{HEAD}\n\n{_only(definitions, name)}"
    used = f"print({', '.join(calls)})\n"
    if not by_import:
        return {"run.py": f"{made}\n\n{used}"}
    return {"parts.py": made, "run.py": f"import torch\nfrom parts import {name}\n\n{used}"}


@pytest.mark.parametrize("by_import", [False, True])
@pytest.mark.parametrize(("definitions", "call"), GIVEN)
def test_a_default_that_each_call_replaces_is_silent(
    definitions: str, call: str, by_import: bool, cli: Cli, project: Path
) -> None:
    assert not _tell(cli, project, _program(definitions, [call], by_import=by_import))


@pytest.mark.parametrize("by_import", [False, True])
@pytest.mark.parametrize(("definitions", "call", "code"), LEFT_OUT)
def test_a_default_that_one_call_leaves_out_is_told(
    definitions: str, call: str, code: str, by_import: bool, cli: Cli, project: Path
) -> None:
    given = next(other for _, other in GIVEN if other.split("(")[0] == call.split("(")[0])
    files = _program(definitions, [given, call], by_import=by_import)
    assert _tell(cli, project, files) == {code}


@pytest.mark.parametrize(
    ("call", "rows"), [("Loss(True, device=given)", []), ("Loss(True)", [7]), ("print", [7])]
)
def test_a_choice_without_mps_that_each_call_replaces_is_none(
    call: str, rows: list[int], cli: Cli, project: Path
) -> None:
    (project / "README.md").write_text("A trainer.\n")
    (project / "style.py").write_text(HEAD + CHOSEN)
    (project / "run.py").write_text(
        f"from style import Loss\n\nloss, given = Loss, 'mps'\n{call}\n"
    )
    if call.startswith("Loss"):
        (project / "run.py").write_text(f"from style import Loss\n\ngiven = 'mps'\nprint({call})\n")
    ran = cli("check", "--output-format", "json", "--select", "MPS103", ".")
    assert [found["location"]["row"] for found in json.loads(ran.out)] == rows


METRIC = """\
import torch


class Metric(torch.nn.Module):
    @staticmethod
    def load(path, device="cuda"):
        return torch.load(path, map_location="cpu").to(device)
"""
CLIP = """\
from .base import Metric


class Clip(Metric):
    @classmethod
    def made(cls, path, device):
        return cls.load({given})
"""


@pytest.mark.parametrize(
    ("given", "beside", "rows"),
    [
        ("path, device=device", "clip.py", []),
        ("path, device", "clip.py", []),
        ("path", "clip.py", [6]),
        ("path, device", "far/away/clip.py", [6]),
    ],
)
def test_in_a_project_that_is_too_large_who_stands_beside_a_default_is_asked(
    given: str, beside: str, rows: list[int], project: Path
) -> None:
    for number in range(_MOST_SEARCHED):
        (project / f"more{number}.py").touch()
    (project / "README.md").write_text("Metrics.\n")
    package = project / "parts" / "metrics"
    for path, text in {"base.py": METRIC, beside: CLIP.format(given=given), "run.py": ""}.items():
        (package / path).parent.mkdir(parents=True, exist_ok=True)
        (package / path).write_text(text)
    settings = Settings(root=str(project), select=("MPS101",))
    source = SourceFile(str(package / "base.py"), METRIC.encode())
    found = lint(source, settings, elsewhere=Neighbours(settings))
    assert [one.row for one in found] == rows


PLACED = """\
import torch


def match(a, b, kind="l2", device="cuda"):
    return a.to(device) - b.to(device)


class Pipeline:
    def __init__(self, model, device="cuda"):
        self.model = model.to(device)

    @classmethod
    def load(cls, name, device):
        return {made}
"""


def _placed(cli: Cli, project: Path, run: str, made: str = "None", readme: str = "") -> list[int]:
    (project / "README.md").write_text(f"A trainer.\n{readme}\n")
    (project / "parts.py").write_text(PLACED.format(made=made))
    head = "import sys\n\nfrom parts import Pipeline, match\n\na, b = sys.argv[1:]\n"
    (project / "run.py").write_text(f"{head}{run}\n")
    ran = cli("check", "--select", "MPS101", "--output-format", "json", "parts.py")
    return [found["location"]["row"] for found in json.loads(ran.out) if found["location"]]


LOADED = "Pipeline.load(a, b)"


@pytest.mark.parametrize(
    "run",
    [
        "given = dict(device=a)\nmatch(a, b, **given)",
        "given = {'device': a}\nmatch(a, b, **given)",
        "given = dict(device=a) if a else {}\nif not a:\n    given = {'device': b}\n"
        "given = {'device': b}\nmatch(a, b, **given)",
        "def run(given):\n    return match(a, b, **given)\n\n\nrun(dict(device=a))",
        "import torch\n\n\n@torch.no_grad()\ndef run(given):\n    return match(a, b, **given)\n\n\n"
        "run(dict(device=a))",
        "match(a, b, device=eval(a))",
    ],
)
def test_a_table_that_has_the_parameter_gives_it(run: str, cli: Cli, project: Path) -> None:
    assert 4 not in _placed(cli, project, run)


@pytest.mark.parametrize(
    "run",
    [
        "given = dict(kind=a)\nmatch(a, b, **given)",
        "given = dict(device=a)\ngiven.pop('device')\nmatch(a, b, **given)",
        "given = dict(device=a)\nif a:\n    given = {}\nmatch(a, b, **given)",
        "def run(given):\n    return match(a, b, **given)\n\n\nrun({})",
        "def run(given):\n    return match(a, b, **given)\n\n\nprint(run)",
    ],
)
def test_a_table_that_may_lack_the_parameter_leaves_it_out(
    run: str, cli: Cli, project: Path
) -> None:
    assert 4 in _placed(cli, project, run)


@pytest.mark.parametrize(
    ("readme", "told"),
    [
        ("    from parts import match\n    match(f(a), b,\n          device='cuda')", False),
        ("    from parts import match\n    match(a, b)", True),
    ],
)
def test_who_reads_how_to_call_it_gives_what_is_shown(
    readme: str, told: bool, cli: Cli, project: Path
) -> None:
    assert (4 in _placed(cli, project, "match(a, b, device=a)", readme=readme)) is told


@pytest.mark.parametrize(
    ("made", "told"), [("cls(name, device)", False), ("cls(name)", True), ("cls.load(name)", True)]
)
def test_a_class_method_that_makes_its_objects_gives_what_it_gives(
    made: str, told: bool, cli: Cli, project: Path
) -> None:
    assert (9 in _placed(cli, project, LOADED, made=made)) is told
