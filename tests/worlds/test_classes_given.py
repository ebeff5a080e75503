"""A class that somebody is given is made with arguments that are not seen."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

PROGRAM = """\
import torch

class Agent:
    def __init__(self, gpu_id=0):
        self.device = torch.device(
            f"cuda:{gpu_id}" if (torch.cuda.is_available() and gpu_id >= 0) else "cpu"
        )

class Config:
    def __init__(self, agent_class=None):
        self.agent_class = agent_class

def trained(config):
    print(config.agent_class(gpu_id=config.gpu_id).device)

if __name__ == "__main__":
"""


def told(main: str) -> list[str]:
    source = SourceFile("train.py", (PROGRAM + main).encode())
    return [finding.code for finding in lint(source, Settings())]


@pytest.mark.parametrize(
    "main",
    [
        "    trained(Config(agent_class=Agent))\n    print(Agent(gpu_id=-1).device)\n",
        "    trained(Config(Agent))\n    print(Agent(gpu_id=-1).device)\n",
    ],
)
def test_who_keeps_a_class_may_make_it_for_a_gpu(main: str) -> None:
    assert told(main) == ["MPS103"]


@pytest.mark.parametrize(
    "main",
    [
        "    print(Agent(gpu_id=-1).device)\n",
        "    print(isinstance(3, Agent), Agent(gpu_id=-1).device)\n",
    ],
)
def test_what_is_made_for_the_cpu_by_all_who_make_it_stays_there(main: str) -> None:
    assert told(main) == []
