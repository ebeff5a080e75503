"""A model whose weights a program reads as arrays where they lie goes to MPS if somebody asks."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Cli

PROGRAM = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = torch.nn.Linear(2, 2).to(device)
print(net(torch.ones(1, 2).to(device)))
READ
"""


def is_ported(cli: Cli, project: Path, read: str) -> bool:
    (project / "train.py").write_text(PROGRAM.replace("READ", read))
    cli("fix", "--no-verify", ".")
    return "torch.backends.mps" in (project / "train.py").read_text()


IN_LOOP = "for name, value in net.named_parameters():\n        "
READS = [
    "print({key: value.numpy() for key, value in net.state_dict().items()})",
    "for name, value in net.named_parameters():\n        print(name, value.detach().numpy())",
    "print([one.data.flatten().numpy() for one in net.parameters()])",
    "print(net.state_dict()['weight'].numpy())",
]


@pytest.mark.parametrize("read", READS)
def test_weights_of_an_unknown_model_that_are_read_where_they_lie_keep_it_on_the_cpu(
    cli: Cli, project: Path, read: str
) -> None:
    (project / "saving.py").write_text(f"import torch\n\n\ndef save(net):\n    {read}\n")
    assert not is_ported(cli, project, "from saving import save\nsave(net)")


@pytest.mark.parametrize("read", READS)
def test_weights_of_a_known_model_are_copied_by_the_same_fix(
    cli: Cli, project: Path, read: str
) -> None:
    assert is_ported(cli, project, read.replace("\n    ", "\n"))
    assert ".cpu()" in (project / "train.py").read_text()


@pytest.mark.parametrize(
    "read",
    [
        "print({key: value.cpu().numpy() for key, value in net.state_dict().items()})",
        "print([one.detach().to('cpu').numpy() for one in net.parameters()])",
        "print(torch.ones(2).numpy(), len(list(net.parameters())))",
    ],
)
def test_weights_that_are_copied_first_keep_nothing(cli: Cli, project: Path, read: str) -> None:
    assert is_ported(cli, project, read)


def is_ported_with(cli: Cli, project: Path, lines: str) -> bool:
    """Whether a program is ported that hands its model to a function of these lines elsewhere."""
    (project / "saving.py").write_text(f"import torch\n\n\ndef save(net, value):\n    {lines}\n")
    return is_ported(cli, project, "from saving import save\nsave(net, torch.ones(2))")


@pytest.mark.parametrize(
    "lines",
    [
        f"{IN_LOOP}value = value.detach()\n        print(value.numpy())",
        f"{IN_LOOP}if name:\n            value = value.cpu()\n        print(value.numpy())",
        f"{IN_LOOP}kept = value.data\n        print(kept.numpy())",
        f"{IN_LOOP}with torch.no_grad():\n            print(value.numpy())",
    ],
)
def test_a_name_for_a_weight_stands_for_it_until_it_is_brought_to_the_host(
    cli: Cli, project: Path, lines: str
) -> None:
    assert not is_ported_with(cli, project, lines)


@pytest.mark.parametrize(
    "lines",
    [
        f"{IN_LOOP}value = value.cpu()\n        print(value.numpy())",
        f"{IN_LOOP}if name:\n            value = value.cpu()\n        else:\n"
        "            value = torch.ones(2)\n        print(value.numpy())",
        f"{IN_LOOP}for value in range(2):\n            print(value.numpy())",
        "print(value.numpy())\n    for value in net.parameters():\n        print(value.mean())",
        "print(sum(value.sum() for value in net.parameters()))\n    print(value.numpy())",
    ],
)
def test_another_thing_of_the_same_name_is_no_weight(cli: Cli, project: Path, lines: str) -> None:
    assert is_ported_with(cli, project, lines)
