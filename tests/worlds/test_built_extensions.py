"""What a setup script builds by `CUDAExtension` alone is CUDA's, and so is what needs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_CHOOSING = """
import torch
from setuptools import setup
from torch.utils.cpp_extension import CUDA_HOME, BuildExtension, CppExtension, CUDAExtension


def extensions():
    extension = CppExtension
    sources = ["vision.cpp"]
    if torch.cuda.is_available() and CUDA_HOME is not None:
        extension = CUDAExtension
        sources.append("vision.cu")
    else:
        {otherwise}
    return [extension("sampling", sources)]


setup(name="sampling", ext_modules=extensions(), cmdclass={{"build_ext": BuildExtension}})
"""
_REFUSING = _CHOOSING.format(otherwise='raise NotImplementedError("needs CUDA")')
_BUILDING_FOR_ALL = _CHOOSING.format(otherwise='sources.append("cpu.cpp")')
_FUNCTIONS = """
import torch
import sampling


class Sampled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value):
        return sampling.forward(value)
"""
_PROGRAM = """
import torch
from functions.sampled import Sampled

print(Sampled.apply(torch.rand(3).cuda()))
"""


def _found(cli: Cli, project: Path, script: str) -> list[tuple[str, str]]:
    ops = project / "ops"
    (ops / "functions").mkdir(parents=True)
    (ops / "setup.py").write_text(script)
    (ops / "functions" / "__init__.py").write_text("from .sampled import Sampled\n")
    (ops / "functions" / "sampled.py").write_text(_FUNCTIONS)
    (ops / "check.py").write_text(_PROGRAM)
    ran = cli("check", "--output-format", "json", ".")
    return [(Path(item["filename"]).name, item["code"]) for item in json.loads(ran.out)]


def test_a_module_that_is_built_where_cuda_is_or_nowhere_is_for_cuda(
    cli: Cli, project: Path
) -> None:
    assert _found(cli, project, _REFUSING) == []


def test_a_module_that_is_built_everywhere_is_for_all(cli: Cli, project: Path) -> None:
    assert _found(cli, project, _BUILDING_FOR_ALL) == [("check.py", "MPS102")]


@pytest.mark.parametrize("maker", ["CUDAExtension", "kernel_maker"])
def test_a_module_that_is_built_by_nvcc_without_a_question_is_for_cuda(
    cli: Cli, project: Path, maker: str
) -> None:
    script = (
        "from setuptools import setup\nfrom torch.utils.cpp_extension import CUDAExtension\n\n"
        f"kernel_maker = CUDAExtension\nsetup(ext_modules=[{maker}('sampling', ['vision.cu'])])\n"
    )
    assert _found(cli, project, script) == []
