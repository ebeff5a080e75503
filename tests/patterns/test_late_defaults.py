"""A parameter's default is found out when its function is called, in a module that others import:
to ask for CUDA before a program sets CUDA_VISIBLE_DEVICES would settle which GPUs it sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli

CLASS = """{head}import torch
from torch import nn


class Evaluator:
    def __init__(self, model: nn.Module, device: {type} = "cuda"{more}):
        self.model = model.to(device)
        self.device = device

    def run(self, x: torch.Tensor) -> torch.Tensor:
        print("on " + self.device)
        return self.model(x.to(self.device))
"""
OPTIONAL = "from typing import Optional\n\n"
LATE = "from __future__ import annotations\n\n"


def fixed(cli: Cli, project: Path, text: str) -> str:
    """What becomes of a module that another file imports."""
    (project / "evaluator.py").write_text(text)
    (project / "main.py").write_text("from evaluator import Evaluator\n\nprint(Evaluator)\n")
    cli("fix", "--no-verify", ".")
    return (project / "evaluator.py").read_text()


@pytest.mark.parametrize(
    ("head", "more", "becomes"),
    [
        (OPTIONAL, ", path: Optional[str] = None", "device: Optional[str] = None, "),
        (LATE, "", "device: str | None = None)"),
        ("", "", "device: str = None)"),
    ],
)
def test_a_default_with_a_type_becomes_none_as_its_file_can_say_that(
    cli: Cli, project: Path, head: str, more: str, becomes: str
) -> None:
    made = fixed(cli, project, CLASS.format(head=head, type="str", more=more))
    assert becomes in made
    assert "        if device is None:\n            device = str(get_device())\n" in made
    assert fixed(cli, project, made) == made


def test_a_type_that_lists_its_values_is_left_as_it_is(cli: Cli, project: Path) -> None:
    text = CLASS.format(head="from typing import Literal\n\n", type='Literal["cuda"]', more="")
    assert "is None" not in fixed(cli, project, text)
