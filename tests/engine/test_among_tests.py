"""What lies among tests and is no program serves tests: these say on which devices it runs."""

from __future__ import annotations

import pytest

from tests.conftest import Cli
from tests.worlds.conftest import told_in_project

_INPUTS = """
import torch


def inputs(device="cpu"):
    images = torch.rand(2, 3)
    if device == "cuda":
        images = images.cuda()
    return images
"""
_DECODER = """
import torch


class Decoder(torch.nn.Module):
    def forward(self, tokens):
        attention = torch.rand(2, 3)
        return tokens, attention.to(tokens.device)
"""
_MAIN = '\n\nif __name__ == "__main__":\n    print({})\n'
_TEST = "from {} import *\n\n\ndef test_it():\n    assert True\n"


def _told(cli: Cli, text: str, folder: str) -> list[str]:
    files = {f"{folder}/helpers.py": text, "tests/test_it.py": _TEST.format("helpers")}
    return [code for _, _, code in told_in_project(cli, files)]


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("text", [_INPUTS, _DECODER])
@pytest.mark.parametrize("folder", ["tests", "test", "pkg/tests/models"])
def test_what_helps_tests_runs_where_they_say(cli: Cli, text: str, folder: str) -> None:
    assert _told(cli, text, folder) == []


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("text", "code"),
    [
        (_INPUTS + _MAIN.format('inputs("cuda")'), "MPS102"),
        (f'{_INPUTS}\n\ninputs("cuda")\n# A program: __main__\n', "MPS102"),
        (_DECODER, "MPS310"),
    ],
)
def test_programs_and_what_lies_elsewhere_run_anywhere(cli: Cli, text: str, code: str) -> None:
    assert code in _told(cli, text, "tests" if "__main__" in text else "testing")
