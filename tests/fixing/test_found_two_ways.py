"""A file that finds its neighbours from two folders gets no import that fits one of them alone."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Cli

MOVED = "net = torch.nn.Linear(2, 2).cuda()\nprint(net(torch.ones(2).cuda()))\n"
TWO_WAYS = """\
import torch

try:
    from models.parts import V
except ImportError:
    from parts import V

print(V)
"""


def test_it_selects_for_itself_what_the_others_share(cli: Cli, project: Path) -> None:
    (project / "README.md").write_text("")
    (project / "models").mkdir()
    (project / "models" / "parts.py").write_text("V = 3\n")
    (project / "models" / "net.py").write_text(TWO_WAYS + MOVED)
    (project / "models" / "other.py").write_text(
        "import torch\nfrom models.parts import V\n" + MOVED
    )
    for name in ("a", "b", "c"):
        (project / f"{name}.py").write_text("import torch\n\n" + MOVED)
    cli("fix", "--unsafe-fixes", ".")
    texts = {path.name: path.read_text() for path in project.rglob("*.py")}
    assert "get_device" in texts["a.py"]
    assert "get_device" in texts["other.py"]
    assert "get_device" not in texts["net.py"]
    assert "torch.backends.mps.is_available()" in texts["net.py"]
