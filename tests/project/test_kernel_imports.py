"""Imports that functions make when they are called: the text says where there may be one."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from mpslint.cli.fix import run
from mpslint.project.compiled.kernel_imports import imports_inside, kernel_imports

INSIDE = [
    "def f():\n    import _kernels\n",
    "def f():\n\tfrom _kernels import run\n",
    "def f(): import _kernels\n",
    "def f():\n    x = 1; import _kernels\n",
    "def f():\n    x = 1;import _kernels\n",
    "def f():\r\n    import _kernels\r\n",
    "def f():\r    import _kernels\r",
    "class A:\n  def f(self):\n    with x:\n      from _kernels import (run,\n  stop)\n",
]


@pytest.mark.parametrize("text", INSIDE)
def test_a_function_that_imports_is_seen_in_the_text(text: str) -> None:
    assert imports_inside(text.encode())
    assert list(kernel_imports(ast.parse(text), lambda module: 0))


def test_a_file_that_only_imports_at_its_top_need_not_be_parsed() -> None:
    text = "import os\nfrom torch import (nn,\n    cuda)\n\n\ndef f():\n    return important\n"
    assert not imports_inside(text.encode())


KERNELS = "import torch\nimport triton\n\n\n@triton.jit\ndef fast(x):\n    pass\n"
CHOICE = """\
def slow(x):
    return x


def by_kernel(x):
    return fast(x)


try:
    from .kernels import fast
except ImportError:
    HANDLER
else:
    use = by_kernel
"""
TEST = """\
import torch

from model.decode import by_kernel, slow


def test_decode():
    x = torch.rand(2, 2, device="cuda")
    assert slow(x) == CALL(x)
"""


@pytest.mark.parametrize(
    ("handler", "call", "is_ported"),
    [
        ("use = slow", "by_kernel", False),
        ("use = slow", "slow", True),
        ("use = fast = slow", "by_kernel", True),
    ],
)
def test_what_calls_a_function_that_lacks_its_kernel_on_a_mac_stays_on_cuda(
    project: Path, handler: str, call: str, is_ported: bool
) -> None:
    files = {
        "model/__init__.py": "",
        "model/kernels.py": KERNELS,
        "model/decode.py": CHOICE.replace("HANDLER", handler),
        "test_decode.py": TEST.replace("CALL", call),
    }
    for name, text in files.items():
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text(text)
    run(["--no-verify", "--no-cache", "--quiet", "."])
    assert ("mps" in (project / "test_decode.py").read_text()) is is_ported


SOLVER = """\
import torch


class Solve(torch.autograd.Function):
    @staticmethod
    def forward(ctx, values: torch.Tensor):
        from model.ext.solver import factor

        wide = values.double()
        return factor(wide)
"""
DEVICE = "device = torch.device('mps' if torch.backends.mps.is_available() else 'cpu')\n"


@pytest.mark.parametrize(
    ("text", "is_narrowed"),
    [
        ("#include <torch/extension.h>\nTORCH_CHECK(x.is_cpu() || x.is_cuda());\n", False),
        ("#include <torch/extension.h>\nif (x.is_mps()) { solve_on_mps(x); }\n", True),
        ("int main() { return 0; }\n", True),
    ],
)
def test_what_goes_to_a_module_that_is_compiled_for_no_mps_keeps_its_dtype(
    project: Path, text: str, is_narrowed: bool
) -> None:
    files = {
        "model/__init__.py": "",
        "model/ext/__init__.py": "",
        "model/ext/solver.cpp": text,
        "model/solve.py": SOLVER.replace("\n\n\n", f"\n\n{DEVICE}\n\n", 1),
    }
    for name, content in files.items():
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text(content)
    run(["--no-verify", "--no-cache", "--quiet", "."])
    fixed = (project / "model/solve.py").read_text()
    assert (".double()" not in fixed) is is_narrowed
