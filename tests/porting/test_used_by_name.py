"""Who imports a file goes along with what is left in it where it may come there, by names that
lead to the row of what is left."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Cli

CHOICE = 'device = "cuda" if torch.cuda.is_available() else "cpu"\n'
TOOLS = (
    "import torch\nfrom torch import nn\n\n\ndef reduced(x):\n"
    f"    {CHOICE}"
    "    x = x.double().to(device)\n    net = nn.Linear(2, 2).double()\n    return net(x)\n\n\n"
    "def again(x):\n    return reduced(x)\n\n\ndef loaded(path):\n    return path.upper()\n"
)
USING = f"import torch\n\n{{imported}}\n\n{CHOICE}x = torch.zeros(1, 2).to(device)\n{{rest}}\n"


def is_ported(cli: Cli, project: Path, imported: str, rest: str) -> bool:
    (project / "tools.py").write_text(TOOLS)
    (project / "train.py").write_text(USING.format(imported=imported, rest=rest))
    cli("fix", "--no-verify", ".")
    assert '"mps"' not in (project / "tools.py").read_text()
    return '"mps"' in (project / "train.py").read_text()


def test_a_program_that_has_something_else_of_the_file_is_ported(cli: Cli, project: Path) -> None:
    assert is_ported(cli, project, "from tools import loaded", "print(loaded('a'), x)")


@pytest.mark.parametrize(
    ("imported", "rest"),
    [
        ("from tools import reduced", "print(reduced(x))"),
        ("from tools import again", "print(again(x))"),
        ("from tools import loaded as load, again as more", "print(more(x))"),
        ("from tools import *", "print(again(x))"),
        ("import tools", "print(tools.again(x))"),
    ],
)
def test_a_program_that_may_come_to_what_is_left_stays(
    cli: Cli, project: Path, imported: str, rest: str
) -> None:
    assert not is_ported(cli, project, imported, rest)
