"""A refusal that asks for NVIDIA by its name, for its driver's tools, for kernels of CUDA's or for
a torch that is built with CUDA, is no refusal of other GPUs: no port comes to what follows, in
other files as well."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.worlds.conftest import told_in_project

_CHECKS = "import shutil\nimport sys\nimport torch\n\ndef require():\n    {refusal}\n"
_PROGRAM = "import checks\nimport torch\n\nchecks.require()\nx = torch.rand(3).cuda()\n"
_INSISTING = [
    "if shutil.which('nvidia-smi') is None: sys.exit('no driver')",
    "if not shutil.which('nvcc'): raise RuntimeError('no compiler')",
    "if torch.version.cuda is None: sys.exit('a build with CUDA is needed')",
    "if not torch.cuda.is_available(): raise RuntimeError('needs an NVIDIA GPU')",
    "if not torch.cuda.is_available(): print('No Nvidia GPU.'); sys.exit(1)",
    "if not torch.cuda.is_available(): raise RuntimeError('runs on NVIDIA Ampere GPUs alone')",
    "if not torch.cuda.is_available(): raise RuntimeError('only for Nvidia graphics cards')",
    "assert torch.cuda.is_available(), f'{sys.argv[0]} needs an NVIDIA GPU'",
    "if not torch.cuda.is_available(): raise RuntimeError('FlashAttention takes CUDA')",
    "assert torch.cuda.is_available(), 'flash-attn was asked for'",
]
_OPEN = [
    "if shutil.which('git') is None: sys.exit('no git')",
    "if not torch.cuda.is_available(): raise RuntimeError('attention takes CUDA')",
    "if not torch.cuda.is_available(): print('no FlashAttention')",
    "if shutil.which('nvidia-smi') is None: print('no driver')",
    "if not torch.cuda.is_available(): raise RuntimeError('needs a GPU')",
    "if not torch.cuda.is_available(): print('No NVIDIA GPU.')",
    "if not torch.cuda.is_available(): sys.exit('No GPU found, see nvidia-smi')",
    "if not torch.cuda.is_available(): sys.exit('No GPU; https://developer.nvidia.com/cuda-gpus')",
    "if not torch.cuda.is_available(): sys.exit('Run nvidia-smi: is there a GPU?')",
    "if not torch.cuda.is_available(): sys.exit('No GPU: is the NVIDIA driver installed?')",
    "assert torch.cuda.is_available(), 'No device (docker: nvidia/cuda, --runtime=nvidia GPU)'",
    "assert torch.cuda.is_available(), 'needs a GPU'",
    "if '--gpu' in sys.argv and not torch.cuda.is_available(): sys.exit('no NVIDIA GPU')",
]


@pytest.mark.parametrize("refusal", _INSISTING)
def test_behind_it_nothing_istold_in_project(cli: Cli, project: Path, refusal: str) -> None:
    assert (
        told_in_project(cli, {"checks.py": _CHECKS.format(refusal=refusal), "main.py": _PROGRAM})
        == []
    )


@pytest.mark.parametrize("refusal", _OPEN)
def test_behind_what_asks_for_some_gpu_or_only_says_so_it_istold_in_project(
    cli: Cli, project: Path, refusal: str
) -> None:
    told = told_in_project(cli, {"checks.py": _CHECKS.format(refusal=refusal), "main.py": _PROGRAM})
    assert ("main.py", 5, "MPS102") in told


@pytest.mark.parametrize(("vendor", "told"), [("an NVIDIA", []), ("a", ["MPS118", "MPS102"])])
def test_a_package_that_refuses_keeps_its_modules_and_who_imports_it(
    cli: Cli, project: Path, vendor: str, told: list[str]
) -> None:
    init = "import torch\n\nif not torch.cuda.is_available():\n"
    init += f"    raise ImportError('needs {vendor} GPU')\n\nfrom .linear import mul\n"
    files = {
        "quant/__init__.py": init,
        "quant/linear.py": "import torch\n\ndef mul(x, w):\n    return x.cuda() @ w.T\n",
        "examples/one.py": "from quant import mul\nimport torch\n\nmul(torch.ones(1), None)\n",
    }
    assert [code for _, _, code in told_in_project(cli, files)] == told


@pytest.mark.parametrize(
    ("test", "told"),
    [("shutil.which('nvidia-smi')", []), ("shutil.which('git')", ["MPS201"])],
)
def test_no_mac_has_the_tools_of_the_driver(
    cli: Cli, project: Path, test: str, told: list[str]
) -> None:
    program = f"import shutil\nimport torch\n\nif {test}:\n    torch.cuda.synchronize()\n"
    assert [code for _, _, code in told_in_project(cli, {"main.py": program})] == told
