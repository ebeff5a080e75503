"""What is cast behind its move may be float64, and is cast first where a fix lets MPS in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Cli

START = (
    "import pickle\nimport sys\n\nimport numpy as np\nimport torch\nfrom torch import nn\n"
    "from torch.utils.data import DataLoader\n\n"
    'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
    "net = nn.Linear(4, 1).to(device)\n"
    'rows = pickle.load(open(sys.argv[1], "rb"))\n\n'
)


def fixed(cli: Cli, project: Path, text: str) -> str:
    """What becomes of a program, behind its first lines; empty: it is not brought to MPS."""
    (project / "train.py").write_text(START + text)
    cli("fix", "--no-verify", ".")
    made = (project / "train.py").read_text()
    head, _, rest = made.partition('"rb"))\n\n')
    return rest if '"mps"' in head else ""


def promised(cli: Cli, project: Path, text: str) -> bool:
    """Whether `check` calls all fixes of a program safe."""
    (project / "train.py").write_text(START + text)
    found = json.loads(cli("check", "--output-format", "json", "train.py").out)
    return all(one["fix"] and one["fix"]["applicability"] == "safe" for one in found)


CAST_FIRST = [
    ("x = torch.from_numpy(rows).to(device).float()\n", ".from_numpy(rows).float().to(device)"),
    ("x = torch.from_numpy(rows).to(device=device).half()\n", ".half().to(device=device)"),
    ("x = torch.from_numpy(rows).to(device).long()\n", ".from_numpy(rows).long().to(device)"),
    ("x = torch.tensor(rows).to(device).type(torch.float32)\n", ".type(torch.float32).to(device)"),
    (
        "x = torch.as_tensor(rows).to(device).to(dtype=torch.float32)\n",
        "(dtype=torch.float32).to(d",
    ),
    ("x = torch.from_numpy(rows).to(device).unsqueeze(0).float()\n", ".float().to(device).unsq"),
    ("x = torch.from_numpy(rows).to(device)[:2].float()\n", "(rows).float().to(device)[:2]"),
    (
        "x = torch.tensor(rows, device=device).float()\n",
        "(rows, device=device, dtype=torch.float32)",
    ),
    ("x = torch.tensor(rows, device=device).view(1, -1).half()\n", "torch.float16).view(1, -1)\n"),
    ("x = torch.asarray(rows, device=device).to(torch.bfloat16)\n", "dtype=torch.bfloat16)\n"),
    (
        "x = [torch.tensor(row).to(device).float() for row in rows]\n",
        "(row).float().to(device) for",
    ),
    (
        "x = (\n    torch.from_numpy(rows)\n    .to(device)\n    .float()\n)\n",
        ".float()\n    .to(dev",
    ),
    ("def of(x):\n    return net(x.to(device).float())\n", "net(x.float().to(device))"),
    ("def of(batch):\n    return net(batch['x'].to(device).float())\n", "['x'].float().to(device)"),
    (
        "for x, y in DataLoader(rows, 2):\n    print(net(x.to(device).float()))\n",
        "net(x.float().to(device))",
    ),
    (
        "x = torch.from_numpy(rows).to(device, non_blocking=True).float()\n",
        '(rows).float().to(device, non_blocking=device.type == "cuda")',
    ),
    (
        'x = torch.tensor(rows, device="cuda" if torch.cuda.is_available() else "cpu").float()\n',
        "dtype=torch.float32",
    ),
]
LATER = [
    ("x = torch.from_numpy(rows)\nx = x.to(device)\nx = x.float()\n", "x = x.float().to(device)\n"),
    (
        "x = torch.tensor(rows, device=device)\nx = x.float()\n",
        "device=device, dtype=torch.float32)",
    ),
    (
        "def of(x):\n    x = x.to(device)\n    print(x.shape, len(x))\n    return net(x.float())\n",
        "    x = x.float().to(device)\n    print(x.shape, len(x))\n    return net(x)\n",
    ),
    (
        "for x, y in DataLoader(rows, 2):\n    x, y = x.to(device), y.to(device)\n"
        "    x, y = x.float(), y.float()\n    print(net(x), y)\n",
        "    x, y = x.float().to(device), y.float().to(device)\n    print(net(x), y)\n",
    ),
    (
        "kept = torch.from_numpy(rows)\nmoved = kept.to(device)\nprint(net(moved.float()))\n",
        "moved = kept.float().to(device)\nprint(net(moved))\n",
    ),
    (
        "x = torch.from_numpy(rows).to(device)\nx = x.float()  # as weights are\n",
        "x = torch.from_numpy(rows).float().to(device)\nx = x.float()  # as weights are\n",
    ),
]


@pytest.mark.parametrize(("text", "made"), [*CAST_FIRST, *LATER])
def test_what_is_cast_behind_the_move_is_cast_first(
    cli: Cli, project: Path, text: str, made: str
) -> None:
    assert made in fixed(cli, project, text)


@pytest.mark.parametrize(("text", "made"), [*CAST_FIRST, *LATER])
def test_check_promises_it(cli: Cli, project: Path, text: str, made: str) -> None:
    assert promised(cli, project, text)


@pytest.mark.parametrize(
    "text",
    [
        "x = torch.from_numpy(rows.astype(np.float32)).to(device).float()\n",
        "x = torch.randn(3, 4).to(device).float()\n",
        "def of(n):\n    return torch.arange(n).to(device).float()\n\n\nprint(of(3))\n",
        "x = torch.from_numpy(rows).float().to(device)\n",
        'x = torch.from_numpy(rows).to("cpu").float()\n',
        "def of(x):\n    return net(x.to(device))\n",
        "def of(y):\n    return y.to(device).long()\n",
        "def of(picture):\n    return net(picture.to(device).float() / 255)\n",
        "def of(picture):\n    return net(picture.to(device).float().div_(127.5))\n",
        "def of(picture):\n    return net(picture.to(device, non_blocking=True).float())\n",
        "def of(model):\n    model = model.to(device).float()\n    return model(rows)\n",
        "def of(model):\n    model = model.to(device)\n    model = model.half()\n"
        "    model.eval()\n    return model\n",
        "def of(model):\n    model.to(device).half()\n",
    ],
)
def test_what_is_no_float64_as_it_seems_is_left(cli: Cli, project: Path, text: str) -> None:
    assert fixed(cli, project, text) == text


CALLED = "\n\nprint(of(torch.tensor(rows)))\n"


@pytest.mark.parametrize(
    "text",
    [
        "def of(x):\n    x = x.to(device)\n    if len(sys.argv) > 2:\n        x = x.float()\n"
        "    return net(x)\n",
        "def of(x):\n    return net(x.to(device)  # there\n        .float())\n",
        "def of(x):\n    return torch.from_numpy(x.numpy()).to(device).type(torch.FloatTensor)\n",
        "def of(x):\n    x = x.to(device)\n    return net(x.float()), x.sum()\n",
    ],
)
def test_a_cast_that_cannot_be_put_first_keeps_the_program_off_mps(
    cli: Cli, project: Path, text: str
) -> None:
    assert fixed(cli, project, text + CALLED) == ""


STEPS = (
    "import torch\n\n\nclass Steps:\n    def __init__(self, net, device):\n"
    "        self.net, self.device = net, device\n\n"
    "    def of(self, batch):\n        x, y = batch\n        {}\n"
    "        return self.net(x)\n"
)
CAST, FIRST = "x = x.to(self.device).float()", "x = x.float().to(self.device)"
MAIN = "from steps import Steps\n\nprint(Steps(net, device).of((rows, 1)))\n"


def test_another_file_casts_first_with_the_choice(cli: Cli, project: Path) -> None:
    (project / "steps.py").write_text(STEPS.format(CAST))
    assert fixed(cli, project, MAIN) == MAIN
    assert (project / "steps.py").read_text() == STEPS.format(FIRST)


@pytest.mark.parametrize("cast", ["long()", "int()", "to(torch.int64)"])
def test_a_list_of_fractions_is_not_made_as_whole_numbers(
    cli: Cli, project: Path, cast: str
) -> None:
    text = f"x = torch.tensor(rows, device=device).{cast}\n"
    assert fixed(cli, project, text) in (text, "")


def test_what_is_made_as_a_leaf_is_not_cast_as_it_is_made(cli: Cli, project: Path) -> None:
    text = "x = torch.tensor(rows, device=device, requires_grad=True).float()\n"
    assert fixed(cli, project, text) == ""


def test_a_file_with_the_choice_of_another_casts_first(cli: Cli, project: Path) -> None:
    chosen = 'import torch\n\nDEVICE = "cuda" if torch.cuda.is_available() else "cpu"\n'
    (project / "config.py").write_text(chosen)
    text = (
        "import numpy as np\nimport torch\nfrom config import DEVICE\n\n"
        'x = torch.as_tensor(np.load("x.npy")).to(DEVICE)\n{}print(x)\n'
    )
    (project / "main.py").write_text(text.format("x = x.float()\n"))
    cli("fix", "--no-verify", ".")
    assert '"mps"' in (project / "config.py").read_text()
    cast = text.format("").replace(".to(DEVICE)", ".float().to(DEVICE)")
    assert (project / "main.py").read_text() == cast


def test_another_file_is_left_with_the_choice(cli: Cli, project: Path) -> None:
    (project / "steps.py").write_text(STEPS.format(CAST))
    blocked = MAIN + "print(torch.from_numpy(rows).to(device))\n"
    assert fixed(cli, project, blocked) == ""
    assert (project / "steps.py").read_text() == STEPS.format(CAST)


def test_a_file_that_is_not_among_those_to_fix_keeps_the_choice_back(
    cli: Cli, project: Path
) -> None:
    (project / "steps.py").write_text(STEPS.format(CAST))
    (project / "train.py").write_text(START + MAIN)
    cli("fix", "--no-verify", "train.py")
    assert (project / "train.py").read_text() == START + MAIN


def test_check_of_all_files_promises_that_they_are_fixed_together(cli: Cli, project: Path) -> None:
    (project / "steps.py").write_text(STEPS.format(CAST))
    (project / "train.py").write_text(START + MAIN)
    for _ in range(2):  # The second time out of the cache.
        found = json.loads(cli("check", "--output-format", "json", ".").out)
        assert [one["fix"]["applicability"] for one in found] == ["safe"]
    found = json.loads(cli("check", "--output-format", "json", "train.py").out)
    assert [one["fix"]["applicability"] for one in found] == ["unsafe"]


@pytest.mark.parametrize(
    "text",
    [
        "w = torch.ones(3, dtype=torch.float64)\nprint(w.to(device))\n",
        "print(torch.ones(3, dtype=torch.float64).to(device))\n",
        "x = torch.tensor(np.linspace(0, 1, 4), device=device)\nprint(x)\n",
        "x = torch.from_numpy(np.linspace(0, 1, 4)).to(device)\nprint(x)\n",
    ],
)
def test_what_a_rule_casts_in_the_same_run_is_promised(cli: Cli, project: Path, text: str) -> None:
    assert promised(cli, project, text)
    assert "torch.float32" in fixed(cli, project, text)
