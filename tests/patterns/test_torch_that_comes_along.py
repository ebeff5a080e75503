"""A file that never imports torch by its name may have it all the same: by a star, or by what it
imports."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli

_COMMON = "import os\nimport torch\nfrom torch import nn\n"
_STEPS = """\
from common import *


def train(model, batches):
    for batch in batches:
        print(torch.numel(batch))
        model(batch.cuda())
        torch.cuda.empty_cache()
"""
_NET = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.line = nn.Linear(3, 3).to(device)
"""
_RUN = """\
from net import Net

if __name__ == "__main__":
    print(Net(device="cuda:0"))
"""
_CALL = "from steps import train\n\ntrain(None, [])\n"


def test_torch_that_comes_by_a_star_is_used_by_its_name(cli: Cli, project: Path) -> None:
    (project / "common.py").write_text(_COMMON)
    (project / "steps.py").write_text(_STEPS)
    (project / "main.py").write_text(_CALL)

    cli("fix", "--no-verify", "--isolated", project)

    text = (project / "steps.py").read_text()
    assert "model(batch.to(device))" in text
    assert "torch.mps.empty_cache()" in text
    assert "import torch" not in text


def test_a_program_that_imports_what_imports_torch_may_import_it(cli: Cli, project: Path) -> None:
    (project / "net.py").write_text(_NET)
    (project / "run.py").write_text(_RUN)

    cli("fix", "--no-verify", "--isolated", project)

    text = (project / "run.py").read_text()
    assert "import torch\n" in text
    assert "Net(device=str(device))" in text


@pytest.mark.parametrize(
    "imports",
    [
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    import torch\n",
        "try:\n    import torch\nexcept ImportError:\n    torch = None\n",
    ],
)
@pytest.mark.parametrize("net", ["net.py", "layers.py"])
def test_a_program_whose_imports_work_without_torch_is_left_alone(
    cli: Cli, project: Path, net: str, imports: str
) -> None:
    (project / "net.py").write_text("from layers import *\n")
    (project / net).write_text(imports + _NET.partition("nn\n\n\n")[2].replace("nn.", "torch.nn."))
    (project / "run.py").write_text(_RUN)

    cli("fix", "--no-verify", "--isolated", project)

    assert (project / "run.py").read_text() == _RUN


def test_a_program_may_import_torch_that_comes_by_a_star(cli: Cli, project: Path) -> None:
    (project / "layers.py").write_text(_NET)
    (project / "net.py").write_text("from layers import *\n")
    (project / "run.py").write_text(_RUN)

    cli("fix", "--no-verify", "--isolated", project)

    assert "import torch\n" in (project / "run.py").read_text()


def test_a_program_of_which_nothing_imports_torch_is_left_alone(cli: Cli, project: Path) -> None:
    (project / "net.py").write_text("class Net:\n    def __init__(self, device):\n        pass\n")
    (project / "run.py").write_text(_RUN)

    cli("fix", "--no-verify", "--isolated", project)

    assert (project / "run.py").read_text() == _RUN


def test_settings_of_a_file_without_torch_are_not_rewritten(cli: Cli, project: Path) -> None:
    settings = (
        "from dataclasses import dataclass\n\nfrom planner.net import Net\n\n\n"
        '@dataclass\nclass Settings:\n    net: type = Net\n    device: str = "cuda"\n\n\n'
        "def made(settings: Settings) -> Net:\n    return settings.net(device=settings.device)\n"
    )
    package = project / "planner" / "planner"
    package.mkdir(parents=True)
    (project / "pyproject.toml").write_text("[project]\nname = 'whole'\n")
    (project / "planner" / "setup.py").write_text("from setuptools import setup\n\nsetup()\n")
    (package / "__init__.py").write_text("")
    (package / "net.py").write_text(_NET)
    (package / "settings.py").write_text(settings)
    (project / "planner" / "run.py").write_text(
        "from planner.net import Net\nfrom planner.settings import Settings\n\n"
        "settings = Settings()\nprint(Net(device=settings.device))\n"
    )

    shown = cli("check", "--isolated", "--output-format", "concise", project).out

    assert "settings.py:9:19: MPS101 the default" in shown  # No `[*]`: it has no safe fix.
