"""What a file says of an array by way of helpers, generators and lambdas is heard where it goes."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Cli

START = (
    "import functools\nimport numpy as np\nimport torch\n\n"
    'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
    "net = torch.nn.Linear(3, 1).to(device)\n"
)


def is_moved_as_it_is(cli: Cli, project: Path, text: str) -> bool:
    """Whether the program is brought to MPS, and nothing in it is cast there."""
    (project / "train.py").write_text(START + text)
    cli("fix", "--no-verify", ".")
    fixed = (project / "train.py").read_text()
    return '"mps"' in fixed and "torch.float32 if" not in fixed


@pytest.mark.parametrize(
    "text",
    [
        "to_t = lambda a: torch.tensor(a, device=device)\ndrawn = np.random.default_rng(0)\n"
        "x, y = map(to_t, (drawn.normal(size=(4, 3)), drawn.integers(0, 2, 4)))\nprint(x, y)\n",
        "def sent(it):\n    for x, y in it:\n        yield torch.as_tensor(x, device=device)\n\n\n"
        "def made(n):\n    for at in range(n):\n        yield np.array([at / 3, 1.0]), at\n\n\n"
        "for x in sent(made(3)):\n    print(x)\n",
        "zeros = functools.partial(torch.zeros, dtype=torch.double)\n\n\n"
        "def total():\n    return zeros(1, device=device)\n\n\nprint(total())\n",
        "def made():\n    yield np.linspace(0, 1, 3)\n\n\n"
        "def shown():\n    kept = list(made())\n"
        "    print(torch.tensor(kept[0], device=device))\n\n\n"
        "shown()\n",
        "class Scores:\n    def __init__(self, values):\n        self.values = values\n\n"
        "    def sent(self):\n        return torch.as_tensor(self.values).to(device)\n\n\n"
        "print(Scores(np.linspace(0, 1, 3)).sent())\n",
    ],
)
def test_float64_that_is_moved_by_a_helper_keeps_the_program_off_mps(
    cli: Cli, project: Path, text: str
) -> None:
    assert not is_moved_as_it_is(cli, project, text)


@pytest.mark.parametrize(
    "text",
    [
        "to_t = lambda a: torch.tensor(a, device=device)\n"
        "print(*map(to_t, (np.ones(3, dtype=np.float32), [1.0, 2.0])))\n",
        "def sent(values):\n    return torch.tensor(values, device=device)\n\n\n"
        "print(sent([0.5, 1.5]), sent(3))\n",
        "zeros = functools.partial(torch.zeros, dtype=torch.float32)\n"
        "print(zeros(1, device=device))\n",
        "kept = np.zeros(3, dtype=np.float32)\nkept[0] = np.exp(0.5)\n"
        "print(torch.tensor(kept, device=device))\n",
        "def shown(rewards, device):\n    return torch.tensor(rewards, device=device)\n",
        "x = torch.tensor(np.ones(3), dtype=torch.float64)\nprint(x.float().to(device))\n",
    ],
)
def test_what_is_not_known_to_be_float64_keeps_nothing_back(
    cli: Cli, project: Path, text: str
) -> None:
    assert is_moved_as_it_is(cli, project, text)


NETWORK = (
    "class Net(torch.nn.Module):\n"
    "    def __init__(self, mean=None):\n        super().__init__()\n"
    "        betas = np.linspace(0.1, 0.2, 3)\n{}\n"
    "    def forward(self, x):\n        return x\n\n\n"
    "net = Net({}).to(device)\nprint(net(torch.ones(3, device=device)))\n"
)


@pytest.mark.parametrize(
    ("made", "given"),
    [
        (
            "        reg = lambda name, val: self.register_buffer(name, torch.tensor(val))\n"
            "        reg('alphas', 1 - betas)\n",
            "",
        ),
        (
            "        for name, table in {'a': betas, 'b': np.sqrt(betas)}.items():\n"
            "            self.register_buffer(name, torch.from_numpy(table))\n",
            "",
        ),
        (
            "        self.register_buffer('mean', torch.as_tensor(mean).view(1, -1))\n",
            "np.random.rand(8, 3).mean(axis=0)",
        ),
        ("        self.register_buffer('scale', torch.tensor([1.0 / 3], dtype=float))\n", ""),
        ("        self.weight = torch.nn.Parameter(torch.tensor(betas))\n", ""),
        (
            "        self.every = torch.nn.ParameterList(\n"
            "            [torch.nn.Parameter(torch.tensor(one)) for one in (betas, 1 - betas)]\n"
            "        )\n",
            "",
        ),
        (
            "        self.loss = torch.nn.BCEWithLogitsLoss(pos_weight=torch.as_tensor(betas))\n",
            "",
        ),
        ("        self.register_buffer('mean', torch.from_numpy(mean))\n", "np.load('a.npy')"),
    ],
)
def test_a_module_that_keeps_float64_is_not_brought_to_mps(
    cli: Cli, project: Path, made: str, given: str
) -> None:
    assert not is_moved_as_it_is(cli, project, NETWORK.format(made, given))


@pytest.mark.parametrize(
    ("made", "given"),
    [
        ("        self.register_buffer('betas', torch.tensor(betas, dtype=torch.float32))\n", ""),
        ("        self.register_buffer('betas', torch.from_numpy(betas).float())\n", ""),
        (
            "        to_torch = functools.partial(torch.tensor, dtype=torch.float32)\n"
            "        self.register_buffer('betas', to_torch(betas))\n",
            "",
        ),
        (
            "        to_torch = lambda a: torch.tensor(a).float()\n"
            "        self.register_buffer('betas', to_torch(betas))\n",
            "",
        ),
        ("        self.register_buffer('mean', torch.tensor(mean))\n", "[0.5, 0.25]"),
        (
            "        self.register_buffer('mean', torch.from_numpy(mean))\n",
            "betas.astype(np.float32)",
        ),
        ("        self.weight = torch.nn.Parameter(torch.tensor(mean))\n", "0.5"),
        (
            "        with torch.no_grad():\n            kept = np.exp(betas).tolist()\n"
            "            kept = torch.tensor(kept)\n        self.kept = torch.nn.Parameter(kept)\n",
            "",
        ),
        ("        self.scale = torch.nn.Parameter(torch.ones([]) * np.log(1 / 0.07))\n", ""),
        ("        self.scale = torch.nn.Parameter(mean * np.log(1 / 0.07))\n", ""),
    ],
)
def test_a_module_that_keeps_float32_is(cli: Cli, project: Path, made: str, given: str) -> None:
    given = given.replace("betas", "np.ones(3)")
    assert is_moved_as_it_is(cli, project, NETWORK.format(made, given))


@pytest.mark.parametrize(
    "made",
    [
        "np.einsum('i,i->i', np.ones(3), np.ones(3))",
        "np.frombuffer(bytes(24))",
        "(np.arange(3) > 1) * 1.0",
        "np.floor(np.arange(3)) / 2",
        "np.random.choice([0.1, 0.2], 3)",
        "np.array(list(map(float, '123')))",
        "np.hstack((np.ones(3, dtype=np.float32), np.ones(3)))",
        "np.array(list(zip(*[(at / 2, at) for at in range(3)]))[0])",
    ],
)
def test_what_numpy_makes_float64_of_is_known(cli: Cli, project: Path, made: str) -> None:
    assert not is_moved_as_it_is(cli, project, f"x = {made}\nprint(torch.tensor(x).to(device))\n")


@pytest.mark.parametrize(
    "made",
    [
        "np.einsum('i,i->i', np.ones(3, dtype=np.float32), np.ones(3, dtype=np.float32))",
        "np.frombuffer(bytes(24), np.float32)",
        "(np.arange(3) > 1) * 1",
        "np.array(list(zip(*[(at / 2, at) for at in range(3)]))[1])",
    ],
)
def test_what_numpy_makes_none_of_is(cli: Cli, project: Path, made: str) -> None:
    assert is_moved_as_it_is(cli, project, f"x = {made}\nprint(torch.tensor(x).to(device))\n")


SENT = (
    "to_t = lambda a: torch.tensor(a, device=device)\n\n\ndef sent(wide):\n    {}:\n"
    "        x = np.ones(3)\n    else:\n        x = np.ones(3, dtype=np.float32)\n"
    "    return to_t(x)\n\n\nprint(sent(False))\n"
)


@pytest.mark.parametrize(
    "test",
    [
        "if not torch.cuda.is_available()",
        "if device.type != 'cuda'",
        "if torch.cuda.device_count() == 0",
        "if wide or torch.cuda.is_available()",
    ],
)
def test_an_arm_that_a_mac_takes_counts(cli: Cli, project: Path, test: str) -> None:
    assert not is_moved_as_it_is(cli, project, SENT.format(test))


@pytest.mark.parametrize(
    "test", ["if torch.cuda.is_available()", "if wide and device.type == 'cuda'"]
)
def test_an_arm_for_cuda_alone_does_not(cli: Cli, project: Path, test: str) -> None:
    assert is_moved_as_it_is(cli, project, SENT.format(test))
