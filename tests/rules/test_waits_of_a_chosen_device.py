"""A file that chooses MPS itself, and waits for CUDA alone before the clock is read."""

from __future__ import annotations

import textwrap

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

PROGRAM = """\
import time
import torch

device = torch.device(
    "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
)
net = torch.nn.Linear(9, 9).to(device)
x = torch.rand(8, 9, device=device)
"""
TIMED = """\
start = time.perf_counter()
net(x)
{}
print(time.perf_counter() - start)
"""
WAIT = 'if device.type == "cuda":\n    torch.cuda.synchronize()'


def in_function(text: str, name: str = "measure()") -> str:
    return f"def {name}:\n" + textwrap.indent(text, "    ")


def is_told(body: str) -> bool:
    program = PROGRAM + body + "\n"
    found = lint(SourceFile("program.py", program.encode()), Settings(select=("MPS602",)))
    return bool(list(found))


@pytest.mark.parametrize(
    "body",
    [
        TIMED.format(WAIT),
        TIMED.format(WAIT.replace("device.type", "device")),
        TIMED.format(WAIT.replace('device.type == "cuda"', '"cuda" in str(device)')),
        "for _ in range(3):\n" + textwrap.indent(TIMED.format(WAIT), "    "),
        in_function(TIMED.format(WAIT)) + "measure()",
        in_function(TIMED.format(WAIT), "measure(device)") + "measure(device)",
        in_function(WAIT, "finish()") + "\n" + TIMED.format("finish()"),
        'sync = torch.cuda.synchronize if device.type == "cuda" else lambda: None\n'
        + TIMED.format("sync()"),
    ],
)
def test_who_chooses_mps_and_waits_for_cuda_alone_reads_the_clock_too_early(body: str) -> None:
    assert is_told(body)


@pytest.mark.parametrize(
    "body",
    [
        TIMED.format(WAIT + '\nelif device.type == "mps":\n    torch.mps.synchronize()'),
        TIMED.format('if device.type == "mps":\n    torch.mps.synchronize()\n' + WAIT),
        TIMED.format(
            "if torch.backends.mps.is_available():\n    torch.mps.synchronize()\n" + f"el{WAIT}"
        ),
        in_function('if device.type == "mps":\n    return\n' + TIMED.format(WAIT)) + "measure()",
        in_function("if torch.backends.mps.is_available():\n    return\n" + TIMED.format(WAIT))
        + "measure()",
        TIMED.format(WAIT).replace("net(x)", "net(x).sum().item()"),
        f"net(x)\n{WAIT}\nprint(1)",
    ],
)
def test_who_waits_for_mps_as_well_or_times_nothing_there_is_told_nothing(body: str) -> None:
    assert not is_told(body)
