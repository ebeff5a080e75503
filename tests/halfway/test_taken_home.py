"""An object that takes the model it is given to the CPU speaks against fixes of the program."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Cli

TRYING = """\
import torch


class Trial:
    def __init__(self, model):
        self.device = torch.device("{device}")
        self.model = model.to(self.device)

    def run(self, x):
        self.model.eval()
        return self.model(x.to(self.device))
"""
PROGRAM = """\
import torch

from trying import Trial


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = torch.nn.Linear(2, 2).to(device)
    for _ in range(2):
        print(net(torch.ones(1, 2).to(device)))
{trial}


if __name__ == "__main__":
    main()
"""
IN_LOOP, BEHIND = "        Trial(net).run(torch.ones(1, 2))", "    Trial(net).run(torch.ones(1, 2))"


def told(cli: Cli, project: Path, *, device: str, trial: str) -> tuple[str | None, str]:
    """The level of the fix for the choice, and what is said of it."""
    (project / "trying.py").write_text(TRYING.format(device=device))
    (project / "main.py").write_text(PROGRAM.format(trial=trial))
    found = json.loads(cli("check", "--output-format", "json").out)
    (choice,) = [one for one in found if one["code"] == "MPS103"]
    fix = choice["fix"] or {"applicability": None, "message": choice["no_fix"]}
    return fix["applicability"], fix["message"]


@pytest.mark.parametrize(("trial", "level"), [(IN_LOOP, None), (BEHIND, "unsafe")])
def test_a_model_that_comes_back_is_known_to_be_on_the_cpu(
    cli: Cli, project: Path, trial: str, level: str | None
) -> None:
    found = told(cli, project, device="cpu", trial=trial)
    assert found[0] == level
    assert "trying.py, line 7: model.to(self.device) takes to the CPU" in found[1]


def test_one_that_goes_where_the_program_is_may_come_back(cli: Cli, project: Path) -> None:
    assert "takes to the CPU" not in told(cli, project, device="cuda", trial=IN_LOOP)[1]
