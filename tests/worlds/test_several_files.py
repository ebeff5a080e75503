"""What a file takes from another one hangs on nothing that stands there: a message points into its
own file alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_FILLER = "# The device stands further down than the other file is long.\n" * 40
_USES = "import torch  # on cuda\nfrom base import {name}\n\n{body}"


@pytest.mark.parametrize(
    ("base", "name", "body"),
    [
        (
            "class Agent:\n    def place(self):\n        self.device = torch.device('cuda')\n",
            "Agent",
            "class Mine(Agent):\n    def place(self):\n        super().place()\n"
            "        self.net.to(self.device)\n",
        ),
        (
            "class Agent:\n    def place(self):\n        self.device = torch.device('cuda')\n",
            "Agent",
            "agent = Agent()\n\ndef place(net):\n    return net.to(agent.device)\n",
        ),
        (
            "class Places:\n    device = 'cuda'\n",
            "Places",
            "def place(net):\n    return net.to(Places.device)\n",
        ),
        (
            "DEVICES = ['cuda:0', 'cpu']\n",
            "DEVICES",
            "def place(net):\n    return net.to(DEVICES[0])\n",
        ),
        (
            "PLACES = {'net': ['cuda:0']}\n",
            "PLACES",
            "def place(net):\n    return net.to(PLACES['net'][0])\n",
        ),
        (
            "pick = lambda: 'cuda'\n",
            "pick",
            "def place(net):\n    return net.to(pick())\n",
        ),
        (
            "class Agent:\n    def __init__(self):\n        assert torch.cuda.is_available()\n",
            "Agent",
            "class Mine(Agent):\n    def place(self, net):\n        return net.to('cuda')\n",
        ),
    ],
    ids=["inherited", "object", "class", "sequence", "mapping", "lambda", "constructor"],
)
def test_a_message_points_into_its_own_file(
    cli: Cli, project: Path, base: str, name: str, body: str
) -> None:
    (project / "base.py").write_text(f"import torch\n{_FILLER}{base}")
    text = _USES.format(name=name, body=body)
    (project / "mine.py").write_text(text)
    ran = cli("check", "--no-cache", "--output-format", "json", "mine.py")
    assert "internal error" not in ran.err
    last = len(text.splitlines())
    assert all(item["location"]["row"] <= last for item in json.loads(ran.out))
