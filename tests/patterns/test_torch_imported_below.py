"""What runs before torch is imported cannot ask it for a device."""

from __future__ import annotations

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

USE = "\n\nnet = torch.nn.Linear(3, 3).to(device)\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f'device = "cuda"\n\nimport torch{USE}', id="at the top"),
        pytest.param(f'import os\ndevice = "cuda"\nif os:\n    import torch{USE}', id="in an arm"),
        pytest.param(
            'def main():\n    device = "cuda"\n    import torch\n\n'
            "    return torch.nn.Linear(3, 3).to(device)\n",
            id="in a function",
        ),
    ],
)
def test_a_device_above_the_import_of_torch_stays_and_is_promised_no_fix(text: str) -> None:
    source = SourceFile("train.py", text.encode())
    outcome = fix_source(source, Settings(), unsafe=True)
    assert outcome.text == text
    assert [finding.applicability for finding in outcome.remaining] == [None]


def test_a_function_above_the_import_of_torch_runs_below_it() -> None:
    text = (
        'def build():\n    device = "cuda"\n    return torch.nn.Linear(3, 3).to(device)\n\n\n'
        "import torch\n\nbuild()\n"
    )
    source = SourceFile("train.py", text.encode())
    assert "torch.backends.mps.is_available()" in fix_source(source, Settings()).text
