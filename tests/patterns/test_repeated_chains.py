"""A choice that several functions of a file make by the same words becomes one function."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Cli

from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

CHOICE = 'torch.device(f"cuda:{gpu_id}" if torch.cuda.is_available() and gpu_id >= 0 else "cpu")'
BUFFER = f"""\
import torch


class Buffer:
    def __init__(self, gpu_id=0):
        self.device = {CHOICE}
        self.states = torch.zeros(3, device=self.device)
"""
AGENT = f"""

class Agent:
    def __init__(self, gpu_id=0):
        self.device = {CHOICE}
        self.net = torch.nn.Linear(2, 2).to(self.device)
"""


WRITTEN = """\
import torch


class TestRotations:
    def test_one(self):
        device = torch.device("cuda:0")
        torch.zeros(3, device=device)

    def test_two(self):
        device = torch.device("cuda:0")
        torch.ones(3, device=device)
"""


def fixed(text: str) -> str:
    return fix_source(SourceFile("agents.py", text.encode()), Settings()).text


def test_two_classes_that_choose_alike_share_a_function() -> None:
    text = fixed(BUFFER + AGENT)
    assert text.count("def get_device(gpu_id) -> torch.device:\n") == 1
    assert text.count("self.device = get_device(gpu_id)\n") == 2
    assert text.count("torch.backends.mps.is_available()") == 1


def test_the_function_names_torch_as_the_choice_does() -> None:
    text = (BUFFER + AGENT).replace("torch", "th")
    imports = "import torch as th\nimport torch.distributions.normal\n"
    fixed_text = fixed(text.replace("import th\n", imports))
    assert fixed_text.count("def get_device(gpu_id) -> th.device:\n") == 1


def test_a_second_run_changes_nothing() -> None:
    text = fixed(BUFFER + AGENT)
    assert fixed(text) == text


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(BUFFER, id="one alone"),
        pytest.param(BUFFER + AGENT.replace(">= 0 else", "> 0 else"), id="another test"),
        pytest.param(
            (BUFFER + AGENT).replace(CHOICE, CHOICE.replace("gpu_id", "self.gpu_id")),
            id="of an object's own",
        ),
    ],
)
def test_what_is_not_the_same_for_all_stays_in_place(text: str) -> None:
    assert "def get_device" not in fixed(text)
    assert "torch.backends.mps.is_available()" in fixed(text)


def test_tests_that_write_out_the_same_device_share_a_function() -> None:
    text = fixed(WRITTEN)
    assert text.count("def get_device() -> torch.device:\n") == 1
    assert text.count('return torch.device("cuda:0")\n') == 1
    assert text.count("    device = get_device()\n") == 2
    assert fixed(text) == text


def test_a_file_that_gets_a_selection_for_something_else_gets_no_function_besides() -> None:
    text = fixed(WRITTEN + '\n    def test_three(self):\n        moved(torch.device("cuda:0"))\n')
    assert "def get_device" not in text
    assert "moved(torch_device)" in text


def test_a_module_that_is_imported_selects_by_the_same_function_for_all(
    cli: Cli, project: Path
) -> None:
    more = '\n    def test_three(self):\n        moved(torch.device("cuda:0"))\n'
    (project / "rotations.py").write_text(WRITTEN + more)
    (project / "suite.py").write_text("from rotations import TestRotations\n\nTestRotations()\n")
    cli("fix", "--no-verify", ".")
    text = (project / "rotations.py").read_text()
    assert text.count("torch.backends.mps.is_available()") == 1
    assert text.count("get_device()") == 4


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(WRITTEN.partition("    def test_two")[0], id="one alone"),
        pytest.param(WRITTEN.replace('"cuda:0")', '"cuda")', 1), id="another text"),
        pytest.param(
            WRITTEN.replace("def test_two(self):", "def test_two(self, x):").replace(
                "torch.ones(3, device=device)", "torch.ones(3, device=device) * x.view(-1)"
            ),
            id="one is where a tensor is",
        ),
    ],
)
def test_one_that_stands_alone_stays_in_place(text: str) -> None:
    assert "def get_device" not in fixed(text)
    assert '"mps"' in fixed(text)
