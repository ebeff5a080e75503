"""A model that is cast to float64 where it is moved keeps that where the device has it, as what it
gets does: no choice of MPS is in doubt for it, and `check` says so before `fix` does it."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Cli

NETS = (
    "import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x\n"
)
START = (
    "import numpy as np\nimport torch\nfrom torch import nn\nfrom nets import Net\n\n"
    'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
    'x = torch.from_numpy(np.load("a.npy")).double().to(device)\n'
)


def promised_and_made(cli: Cli, project: Path, rest: str) -> tuple[bool, str]:
    """Whether `check` calls the choice safe, and what `fix` makes of the program."""
    (project / "nets.py").write_text(NETS)
    (project / "train.py").write_text(START + rest)
    said = cli("check", "--output-format", "concise", ".").out
    promised = any("MPS103 [*]" in line for line in said.splitlines())
    cli("fix", "--no-verify", ".")
    return promised, (project / "train.py").read_text()


@pytest.mark.parametrize(
    "net",
    [
        "nn.Linear(2, 2).double().to(device)",
        "nn.Sequential(nn.Linear(2, 2)).double().to(device)",
        "Net().double().to(device)",
        "Net().train().double().to(device)",
    ],
)
def test_a_model_and_what_it_is_given_are_float32_on_mps_and_float64_elsewhere(
    cli: Cli, project: Path, net: str
) -> None:
    promised, made = promised_and_made(cli, project, f"net = {net}\nprint(net(x))\n")
    assert promised
    assert '"mps"' in made
    assert ".double()" not in made
    assert made.count('torch.float32 if device.type == "mps" else torch.float64') == 2


@pytest.mark.parametrize(
    "rest",
    [
        # Where all of it lies, or that all of it is float64, is not said where it is moved.
        "net = nn.Linear(2, 2).double()\nnet.to(device)\nprint(net(x))\n",
        "net = nn.Linear(2, 2).to(device).double()\nprint(net(x))\n",
        # What is not moved keeps float64, and meets what is cast.
        "net = Net().double()\nprint(net(x))\n",
    ],
)
def test_a_model_that_is_cast_elsewhere_keeps_its_program_from_mps(
    cli: Cli, project: Path, rest: str
) -> None:
    promised, made = promised_and_made(cli, project, rest)
    assert not promised
    assert made == START + rest
