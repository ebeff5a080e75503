"""What a function makes of its parameters alone lies on the CPU where all who call it have left
there what they give it; of operators that MPS lacks nothing is told then (MPS501)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.worlds.conftest import told_in_project

OPERATORS = (
    "import torch\n\n\n"
    "def align(poses, scale=1.0):\n"
    "    origins = poses[..., :3]\n"
    "    diff = origins - torch.mean(origins, dim=0)\n"
    "    return torch.linalg.eigvals(diff.T @ diff)\n"
)
TOLD = [("operators.py", 7, "MPS501")]


@pytest.mark.parametrize(
    "call",
    [
        "align(torch.from_numpy(np.load('x.npy')))",
        "align(torch.tensor([[1.0]]), scale=2.0)",
        "align(poses=model(x).cpu())",
        "align(np.ones((3, 3)))",
    ],
)
def test_what_others_give_from_the_cpu_is_computed_there(
    cli: Cli, project: Path, call: str
) -> None:
    assert told_in_project(cli, {"operators.py": OPERATORS, "run.py": program(call)}) == []


@pytest.mark.parametrize(
    "call",
    [
        "align(torch.from_numpy(np.load('x.npy')).to('mps'))",
        "align(model(x))",
        "print(align)",
        "align(*given)",
    ],
)
def test_what_may_be_on_mps_is_told(cli: Cli, project: Path, call: str) -> None:
    assert TOLD[0] in told_in_project(cli, {"operators.py": OPERATORS, "run.py": program(call)})


def test_one_call_with_a_tensor_of_the_gpu_is_enough(cli: Cli, project: Path) -> None:
    files = {
        "operators.py": OPERATORS,
        "first.py": program("align(torch.ones(3, 3))"),
        "second.py": program("align(model(x))"),
    }
    assert TOLD[0] in told_in_project(cli, files)


def test_what_tests_give_says_nothing_of_programs(cli: Cli, project: Path) -> None:
    test = (
        "import torch\n\nfrom operators import align\n\n\n"
        "def test_align():\n    assert align(torch.ones(3, 3)) is not None\n"
    )
    files = {"operators.py": OPERATORS, "test_operators.py": test}
    assert TOLD[0] in told_in_project(cli, files)


@pytest.mark.parametrize(
    "body",
    [
        "    return torch.linalg.eigvals(poses.to(device))\n",
        "    return torch.linalg.eigvals(net(poses))\n",
        "    return torch.linalg.eigvals(poses @ WEIGHTS)\n",
    ],
)
def test_what_else_the_function_computes_with_may_be_on_mps(
    cli: Cli, project: Path, body: str
) -> None:
    own = f"import torch\n\nfrom weights import WEIGHTS, device, net\n\n\ndef align(poses):\n{body}"
    weights = (
        "import torch\n\ndevice = torch.device('mps')\nWEIGHTS = torch.ones(3, 3, device=device)\n"
        "net = torch.nn.Linear(3, 3).to(device)\n"
    )
    files = {
        "operators.py": own,
        "weights.py": weights,
        "run.py": program("align(torch.ones(3, 3))"),
    }
    assert ("operators.py", 7, "MPS501") in told_in_project(cli, files)


@pytest.mark.parametrize(
    ("bound", "told"), [("torch==1.11.0", []), ("torch<1.12", []), ("torch==1.12.1", TOLD)]
)
def test_a_project_whose_torch_has_no_mps_is_told_of_no_operators(
    cli: Cli, project: Path, bound: str, told: list[tuple[str, int, str]]
) -> None:
    files = {"operators.py": OPERATORS, "run.py": program("align(model(x))")}
    files["requirements.txt"] = f"{bound}\n"
    found = [item for item in told_in_project(cli, files) if item[2] == "MPS501"]
    assert found == told


def program(call: str) -> str:
    return (
        "import numpy as np\nimport torch\n\nfrom operators import align\n\n"
        "model = torch.nn.Linear(3, 3).to(torch.device('mps'))\n"
        "x = torch.ones(3, 3).to(torch.device('mps'))\n"
        f"given = [x]\n\nprint({call})\n"
    )
