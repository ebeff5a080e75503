"""A device that is set first for all machines, and again where CUDA is, is CUDA there."""

from __future__ import annotations

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

_USES = """net = torch.nn.Linear(2, 2).to({device})
net(torch.zeros(1, 2, device={device}))
torch.cuda.synchronize(0)
"""


def fixed(head: str, device: str = "device") -> str:
    text = f"import torch\n\n{head}{_USES.format(device=device)}"
    result = fix_source(SourceFile.from_text(text), Settings())
    assert result.error is None
    return result.text


@pytest.mark.parametrize(
    "choice",
    [
        "if torch.cuda.is_available():\n    device = 'cuda'\n",
        "if torch.cuda.is_available():\n    device = 'cuda'\n"
        "elif torch.backends.mps.is_available():\n    device = 'mps'\n",
        "if torch.backends.mps.is_available():\n    device = 'mps'\n"
        "elif torch.cuda.is_available():\n    device = 'cuda'\n",
    ],
)
def test_a_call_asks_the_device_and_not_the_machine(choice: str) -> None:
    assert "if device == 'cuda':\n    torch.cuda.synchronize(0)" in fixed(
        f"device = 'cpu'\n{choice}"
    )


def test_a_device_that_a_switch_sets_again_may_stay_on_the_cpu() -> None:
    head = "import sys\n\ndevice = 'cpu'\nif len(sys.argv) > 1:\n    device = 'cuda'\n"

    assert "if torch.cuda.is_available():\n    torch.cuda.synchronize(0)" in fixed(head)


def test_what_is_set_behind_the_choice_counts() -> None:
    head = "if torch.cuda.is_available():\n    device = 'cuda'\nelse:\n    device = 'cpu'\n"

    assert "device == 'cuda'" not in fixed(f"{head}device = 'cpu'\n")
