"""Who waits in a function that is given its device waits for that one."""

from __future__ import annotations

import pytest

from mpslint.fixer import fix_source
from mpslint.settings import Settings
from mpslint.source import SourceFile

BY_TYPE = """\
    if device.type == "cuda":
        torch.cuda.synchronize()
    elif device.type == "mps":
        torch.mps.synchronize()
"""


def fixed(header: str, before: str = "") -> str:
    text = f"import torch\n\n\n{header}\n{before}    torch.cuda.synchronize()\n"
    return fix_source(SourceFile("engine.py", text.encode()), Settings()).text


def test_a_device_that_a_function_is_given_is_the_one_to_wait_for() -> None:
    assert BY_TYPE in fixed("def train(model, device: torch.device):")


@pytest.mark.parametrize(
    ("header", "before"),
    [
        pytest.param("def train(model, device):", "", id="it may be a string"),
        pytest.param("def train(model, device: str):", "", id="it is a string"),
        pytest.param("def train(model):", "", id="there is none"),
        pytest.param(
            "def train(model, device: torch.device):",
            "    device = model.device\n",
            id="it is another one by now",
        ),
    ],
)
def test_the_machine_is_asked_where_no_device_is_known(header: str, before: str) -> None:
    text = fixed(header, before)
    assert "if torch.cuda.is_available():\n" in text
    assert ".type ==" not in text
