"""A tensor of NumPy's own dtype, which a function of another file gives, stays off MPS."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Cli

START = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
NET = "net = torch.nn.Linear(3, 1).to(device)\n"
HEAD = "import numpy as np\nimport torch\n\n\n"


def is_ported(cli: Cli, project: Path, given: str, used: str, imported: str) -> bool:
    (project / "data.py").write_text(HEAD + given)
    program = f"import numpy as np\nimport torch\n\n{imported}\n\n{START}{NET}{used}"
    (project / "train.py").write_text(program)
    cli("fix", "--no-verify", ".")
    return '"mps"' in (project / "train.py").read_text()


@pytest.mark.parametrize(
    ("given", "used"),
    [
        (
            "def load(n=8):\n    x = np.random.rand(n, 3)\n"
            "    return torch.from_numpy(x), torch.from_numpy(x[:, 0])\n",
            "x, y = load()\nx, y = x.to(device), y.to(device)\nprint(net(x.float()), y)\n",
        ),
        (
            "def scaled(a):\n    return a / a.sum(1)\n\n\n"
            "def load(n=3):\n    return torch.tensor(scaled(np.eye(n)))\n",
            "x = load()\nx = x.cuda()\nprint(x)\n",
        ),
        (
            "def load(path):\n    return torch.from_numpy(np.load(path))\n",
            "x = load('a.npy')\nprint(x[0].to(device))\n",
        ),
        (
            "def load():\n    wide = torch.from_numpy(np.ones(3))\n"
            "    return {'x': torch.ones(3), 'weight': wide}\n",
            "found = load()\nprint(found['weight'].to(device))\n",
        ),
        (
            "def load():\n    drawn = np.random.default_rng(0)\n    for _ in range(3):\n"
            "        yield torch.as_tensor(drawn.random(3)), 1\n",
            "for x, y in load():\n    print(x.to(device), y)\n",
        ),
        (
            "class Base:\n    def scores(self):\n        return np.linspace(0, 1, 3)\n\n\n"
            "class Scores(Base):\n    def scores(self):\n        return super().scores() * 2\n\n\n"
            "def load():\n    made = Scores()\n    return torch.as_tensor(made.scores())\n",
            "x = load()\nprint(x.to(device))\n",
        ),
        (
            "def load():\n    return np.linspace(0, 1, 3)\n",
            "x = load()\nprint(torch.tensor(x, device=device))\n",
        ),
        (
            "def load():\n    return np.mean(np.linspace(0, 1, 3))\n",
            "kept = []\nfor _ in range(3):\n    kept.append(load())\n"
            "print(torch.tensor(kept).to(device))\n",
        ),
    ],
)
def test_what_is_moved_as_it_was_given_keeps_the_program_off_mps(
    cli: Cli, project: Path, given: str, used: str
) -> None:
    assert not is_ported(cli, project, given, used, "from data import load\n")


@pytest.mark.parametrize(
    ("given", "used"),
    [
        (
            "def load(n=8):\n    return torch.from_numpy(np.random.rand(n, 3)).float()\n",
            "x = load()\nprint(net(x.to(device)))\n",
        ),
        (
            "def load(n=8):\n    made = np.random.rand(n, 3).astype(np.float32)\n"
            "    return torch.from_numpy(made)\n",
            "x = load()\nprint(net(x.to(device)))\n",
        ),
        (
            "def load(n=8):\n    return torch.from_numpy(np.random.rand(n, 3))\n",
            "x = load()\nprint(net(x.float().to(device)))\n",
        ),
        (  # A network of float32 would raise for it on any machine.
            "def load(path):\n    return torch.from_numpy(np.load(path))\n",
            "net.eval()\nx = load('a.npy').to(device)\nprint(net(x))\n",
        ),
        (
            "def load(n=8):\n    return torch.tensor(np.random.randint(0, 3, n))\n",
            "x = load()\nprint(x.to(device))\n",
        ),
        (
            "def load(rows):\n    return torch.tensor(rows)\n",
            "x = load([1.0, 2.0, 3.0])\nprint(net(x.to(device)))\n",
        ),
        (
            "def load():\n    return np.random.uniform()\n",
            "x = load()\nprint(torch.tensor(x, device=device))\n",
        ),
        (
            "def load():\n    return torch.from_numpy(np.ones(3))\n",
            "kept = load()\nprint(kept.sum().item())\n\n\n"
            "def shown(kept):\n    return kept.to(device)\n\n\nprint(shown(torch.ones(3)))\n",
        ),
    ],
)
def test_what_is_no_float64_where_it_is_moved_keeps_nothing_back(
    cli: Cli, project: Path, given: str, used: str
) -> None:
    assert is_ported(cli, project, given, used, "from data import load\n")


def test_an_attribute_of_several_classes_may_be_a_table(cli: Cli, project: Path) -> None:
    given = (
        "class First:\n    kept = {'x': np.ones(3, dtype=np.float32)}\n\n\n"
        "class Second:\n    kept = {'y': np.ones(3)}\n\n\n"
        "def load(made):\n    return torch.tensor(made.kept['x'])\n"
    )
    used = "x = load(First())\nprint(x.to(device))\n"
    assert is_ported(cli, project, given, used, "from data import load, First\n")


def test_what_a_file_gives_to_a_class_that_moves_it_keeps_that_off_mps(
    cli: Cli, project: Path
) -> None:
    (project / "trainer.py").write_text(
        f"import torch\n\n{START}\n\nclass Trainer:\n"
        "    def moved(self, batch):\n        return [part.to(device) for part in batch]\n\n"
        "    def fit(self, batches):\n        for batch in batches:\n"
        "            print(self.moved(batch))\n"
    )
    (project / "train.py").write_text(
        "import numpy as np\nimport torch\nfrom trainer import Trainer\n\n\n"
        "def made(n):\n    for _ in range(n):\n        x = np.random.rand(8, 3)\n"
        "        yield torch.as_tensor(x), torch.as_tensor(x.sum(1))\n\n\n"
        "Trainer().fit(made(3))\n"
    )
    cli("fix", "--no-verify", ".")
    assert '"mps"' not in (project / "trainer.py").read_text()
