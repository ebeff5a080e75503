"""A default stays what it is where None is something of its own: for a caller who gives it, or for
TorchScript."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli

MAKE = """import torch


{above}def make(n, device: str = "cuda"):
    print("on " + str(device))
    return torch.zeros(n, device=device)
{below}"""
WRAPPED = "\n\ndef wrapped(n, device=None):\n    return make(n, device=device)\n"


@pytest.mark.parametrize(
    ("above", "below", "use"),
    [
        ("", "", "print(make(2), make(3, None))"),
        ("", "", "print(make(2), make(3, device=None))"),
        ("", WRAPPED, "print(make(2))"),
        ("@torch.jit.script\n", "", "print(make(2))"),
        ("", "\n\nFAST = torch.jit.script(make)\n", "print(make(2))"),
    ],
)
def test_no_safe_fix_makes_it_none(
    cli: Cli, project: Path, above: str, below: str, use: str
) -> None:
    (project / "pyproject.toml").touch()
    text = MAKE.format(above=above, below=below)
    (project / "lib.py").write_text(text)
    (project / "use.py").write_text(f"from lib import make\n\n{use}\n")
    cli("fix", "--no-verify", ".")
    assert (project / "lib.py").read_text() == text
