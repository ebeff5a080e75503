"""A device in a configuration is told where somebody in the project places something with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_NODES = """\
from yacs.config import CfgNode

_C = CfgNode()
_C.MODEL = CfgNode()
_C.MODEL.DEVICE = "cuda"
"""
_PLAIN = """\
CFG = {"device": "cuda", "width": 8}
"""
_NESTED = """\
CFG = {"model": {"device": "cuda"}, "width": 8}
"""


def _rows(cli: Cli, project: Path, config: str, user: str) -> list[int]:
    """The lines of the configuration in which a device is told."""
    (project / "README.md").write_text("# A program\n")
    (project / "config.py").write_text(config)
    (project / "build.py").write_text(f"import torch\n{user}\n")
    ran = cli("check", "--output-format", "json", "--select", "MPS101", ".")
    found = json.loads(ran.out)
    return [item["location"]["row"] for item in found if item["filename"].endswith("config.py")]


@pytest.mark.parametrize(
    "use",
    [
        "def build(model, cfg):\n    return model.to(torch.device(cfg.MODEL.DEVICE))",
        "class Trainer:\n    def __init__(self, cfg):\n        self.device = cfg.MODEL.DEVICE",
        "def build(model, nodes):\n    return model.to(getattr(nodes, 'DEVICE'))",
    ],
)
def test_a_device_that_is_read_by_its_key_is_told_where_it_is_written(
    cli: Cli, project: Path, use: str
) -> None:
    assert _rows(cli, project, _NODES, use) == [5]


@pytest.mark.parametrize(
    "use",
    [
        "def build(model, cfg):\n    return model",
        "def build(model, cfg):\n    return model.half() if cfg.MODEL.DEVICE != 'cpu' else model",
        "def build(model, cfg):\n    print(f'on {cfg.MODEL.DEVICE}', str(cfg.MODEL.DEVICE))",
        "def build(model, cfg):\n    cfg.MODEL.DEVICE = 'cpu'",
    ],
)
def test_a_device_that_is_only_looked_at_places_nothing(cli: Cli, project: Path, use: str) -> None:
    assert _rows(cli, project, _NODES, use) == []


@pytest.mark.parametrize(
    ("config", "use"),
    [
        (_PLAIN, "from config import CFG\n\nmodel = torch.nn.Linear(CFG['width'], 2)"),
        (_NESTED, "from config import CFG\n\nmodel = torch.nn.Linear(CFG['width'], 2)"),
        (_NESTED, "from config import CFG\n\nx = torch.ones(CFG['width'])\ny = x.to(x.device)"),
    ],
)
def test_a_key_that_nobody_reads_places_nothing(
    cli: Cli, project: Path, config: str, use: str
) -> None:
    assert _rows(cli, project, config, use) == []


@pytest.mark.parametrize(
    ("config", "use"),
    [
        (_PLAIN, "from config import CFG\n\nmodel = torch.nn.Linear(2, 2).to(CFG['device'])"),
        (_PLAIN, "import config\n\nmodel = torch.nn.Linear(2, 2).to(config.CFG.get('device'))"),
        (_PLAIN, "from config import CFG\nfrom library import Trainer\n\nTrainer(**CFG)"),
        (_PLAIN, "from config import CFG\n\nfor key, value in CFG.items():\n    print(key)"),
        (_NESTED, "from config import CFG\n\npart = CFG['model']\nnet = make().to(part['device'])"),
    ],
)
def test_a_key_that_somebody_may_read_is_told(
    cli: Cli, project: Path, config: str, use: str
) -> None:
    assert _rows(cli, project, config, use) == [1]


def test_a_key_that_a_notebook_reads_is_told(cli: Cli, project: Path) -> None:
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cell["source"] = ["from config import CFG\n", "net.to(CFG['model'][\"device\"])"]
    book = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (project / "use.ipynb").write_text(json.dumps(book))
    assert _rows(cli, project, _NESTED, "") == [1]


_ENVIRONMENT = """\
import os

os.environ["DEVICE"] = "cuda"
import build
print(build.DEVICE)
"""


@pytest.mark.parametrize("use", ["DEVICE = 'cpu'", "DEVICE = os.environ"])
def test_a_device_in_the_environment_that_nobody_reads_places_nothing(
    cli: Cli, project: Path, use: str
) -> None:
    assert _rows(cli, project, _ENVIRONMENT, f"import os\n{use}") == []


@pytest.mark.parametrize("read", ["os.environ['DEVICE']", "os.getenv('DEVICE', 'cpu')"])
def test_a_device_in_the_environment_is_told_where_somebody_reads_it(
    cli: Cli, project: Path, read: str
) -> None:
    assert _rows(cli, project, _ENVIRONMENT, f"import os\nDEVICE = torch.device({read})") == [3]
