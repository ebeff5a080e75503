"""Operators that a project registers with torch, and where they run: a program that cannot do
without one of CUDA's alone is CUDA's."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.project.compiled.operator_libraries import operators_named
from tests.conftest import Cli

_SETUP = """\
from setuptools import setup
from torch.utils.cpp_extension import {maker}


def get_extensions():
    return [{maker}("splats.csrc", ["splats.cpp", "splats.cu"])]


setup(name="splats", ext_modules=get_extensions())
"""
_LAZY = """\
import torch


def _make_lazy(name):
    def call(*args):
        return getattr(torch.ops.splats, name)(*args)

    return call


def project(means):
    return _make_lazy("project")(means, 1)
"""
_RENDERING = """\
from .wrapper import project


def render(means):
    placed = project(means)
    return placed.sum()
"""
_PROGRAM = """\
import torch
from splats.rendering import render


def main():
    means = torch.zeros(3, device="cuda")
    torch.cuda.synchronize()
    print(render(means))


if __name__ == "__main__":
    main()
"""


def _write(project: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)


def _codes(cli: Cli, name: str) -> list[str]:
    ran = cli("check", "--no-cache", "--isolated", "--output-format", "concise", name)
    return [line.split()[1] for line in ran.out.splitlines() if line.startswith(name)]


@pytest.mark.parametrize(
    ("maker", "told"), [("CUDAExtension", []), ("CppExtension", ["MPS101", "MPS201"])]
)
def test_a_library_that_is_compiled_for_cuda_alone_is_not_there_on_a_mac(
    cli: Cli, project: Path, maker: str, told: list[str]
) -> None:
    files = {
        "splats/__init__.py": "",
        "splats/wrapper.py": _LAZY,
        "splats/rendering.py": _RENDERING,
    }
    _write(project, {**files, "setup.py": _SETUP.format(maker=maker), "view.py": _PROGRAM})
    assert _codes(cli, "view.py") == told


def test_a_library_of_another_name_is_somebody_else_s(cli: Cli, project: Path) -> None:
    lazy = _LAZY.replace("torch.ops.splats", "torch.ops.others")
    files = {"splats/__init__.py": "", "splats/wrapper.py": lazy, "splats/rendering.py": _RENDERING}
    setup = _SETUP.format(maker="CUDAExtension")
    _write(project, {**files, "setup.py": setup, "view.py": _PROGRAM})
    assert _codes(cli, "view.py") == ["MPS101", "MPS201"]


_BENCH = """\
import torch
import ops

a = torch.rand(3, 3, device="cuda")
torch.cuda.synchronize()
torch.ops.mine.gemm(a, a)
"""
_DEFINED = (
    'import torch\n\ntorch.library.define("mine::gemm", "(Tensor a, Tensor b) -> Tensor")\n\n\n'
)
_BY_LIBRARY = (
    'import torch\n\nlib = torch.library.Library("mine", "DEF")\n'
    'lib.define("gemm(Tensor a, Tensor b) -> Tensor")\n\n\n'
)
_CUSTOM = 'import torch\n\n\n@torch.library.custom_op("mine::gemm", mutates_args=(){more})\n'
_KERNEL = "def gemm(a, b):\n    return a @ b\n"


@pytest.mark.parametrize(
    "registered",
    [
        _DEFINED + '@torch.library.impl("mine::gemm", ["CUDA"])\n' + _KERNEL,
        _DEFINED + '@torch.library.impl("mine::gemm", "CUDA")\n' + _KERNEL,
        _DEFINED + '@torch.library.impl("mine::gemm", "XPU")\n' + _KERNEL,
        _BY_LIBRARY + _KERNEL + '\n\nlib.impl("gemm", gemm, "CUDA")\n',
        _BY_LIBRARY + '@torch.library.impl(lib, "gemm", "CUDA")\n' + _KERNEL,
        _CUSTOM.format(more=', device_types="cuda"') + _KERNEL,
    ],
)
def test_an_operator_with_kernels_for_cuda_alone_ends_a_program_on_a_mac(
    cli: Cli, project: Path, registered: str
) -> None:
    _write(project, {"ops.py": registered, "bench.py": _BENCH, "pyproject.toml": ""})
    assert _codes(cli, "bench.py") == []


@pytest.mark.parametrize(
    "registered",
    [
        _DEFINED + '@torch.library.impl("mine::gemm", "default")\n' + _KERNEL,
        _DEFINED + '@torch.library.impl("mine::gemm", ["CUDA", "CPU"])\n' + _KERNEL,
        _DEFINED + '@torch.library.impl("mine::gemm", KEY)\n' + _KERNEL,
        _BY_LIBRARY + _KERNEL + '\n\nlib.impl("gemm", gemm, "CompositeExplicitAutograd")\n',
        _CUSTOM.format(more="") + _KERNEL,
        _DEFINED + '@torch.library.impl("mine::gemm", "Meta")\n' + _KERNEL,
        _CUSTOM.format(more=', device_types="cuda"')
        + _KERNEL
        + '\n\n@gemm.register_kernel("cpu")\ndef on_the_host(a, b):\n    return a @ b\n',
        _DEFINED
        + '@torch.library.impl("mine::gemm", "CUDA")\n'
        + _KERNEL
        + '\n\nfor key in ("CPU", "MPS"):\n    torch.library.impl(f"mine::gemm", key)(gemm)\n',
        _DEFINED.replace("gemm", "other")
        + '@torch.library.impl("mine::other", "CUDA")\n'
        + _KERNEL,
    ],
)
def test_an_operator_that_others_may_run_ends_nothing(
    cli: Cli, project: Path, registered: str
) -> None:
    _write(project, {"ops.py": registered, "bench.py": _BENCH, "pyproject.toml": ""})
    assert _codes(cli, "bench.py") == ["MPS101", "MPS201"]


_HANDED = """\
import torch
from splats.rendering import render


def serve(draw, size):
    return draw(torch.zeros(size))


if __name__ == "__main__":
    device = torch.device("cuda")
    serve(render, 3)
    print(torch.ones(3, device=device))
"""
_EITHER = """\
import sys

import torch
from splats.rendering import render

if __name__ == "__main__":
    means = torch.ones(3, device="cuda")
    print(render(means) if "--fused" in sys.argv else means.sum())
"""
_PLAIN = """\
import torch
{line}

if __name__ == "__main__":
    print(torch.ones(3, device="cuda"))
"""


def test_programs_that_hand_on_what_no_mac_comes_back_from_are_what_a_project_is_for(
    cli: Cli, project: Path
) -> None:
    files = {
        "splats/__init__.py": "",
        "splats/wrapper.py": _LAZY,
        "splats/rendering.py": _RENDERING,
    }
    setup = _SETUP.format(maker="CUDAExtension")
    _write(project, {**files, "setup.py": setup, "view.py": _HANDED, "other.py": _HANDED})
    assert _codes(cli, "view.py") == []


def test_a_program_that_has_another_way_is_told(cli: Cli, project: Path) -> None:
    files = {
        "splats/__init__.py": "",
        "splats/wrapper.py": _LAZY,
        "splats/rendering.py": _RENDERING,
    }
    setup = _SETUP.format(maker="CUDAExtension")
    _write(project, {**files, "setup.py": setup, "view.py": _EITHER, "other.py": _EITHER})
    assert _codes(cli, "view.py") == ["MPS101"]


def test_a_program_that_needs_none_of_it_is_told_all_the_same(cli: Cli, project: Path) -> None:
    files = {
        "splats/__init__.py": "",
        "splats/wrapper.py": _LAZY,
        "splats/rendering.py": _RENDERING,
    }
    setup = _SETUP.format(maker="CUDAExtension")
    plain = _PLAIN.format(line="import splats")
    _write(project, {**files, "setup.py": setup, "view.py": _HANDED, "plain.py": plain})
    assert _codes(cli, "plain.py") == ["MPS101"]


def test_a_package_may_hand_on_kernels_beside_all_else(cli: Cli, project: Path) -> None:
    files = {
        "splats/__init__.py": "from .rendering import render\nfrom .plain import add\n",
        "splats/plain.py": "import torch\n\n\ndef add():\n    return torch.ones(3).cuda()\n",
        "splats/wrapper.py": _LAZY,
        "splats/rendering.py": _RENDERING,
    }
    _write(project, {**files, "setup.py": _SETUP.format(maker="CUDAExtension")})
    assert _codes(cli, "splats/plain.py") == ["MPS102"]


def test_operators_are_named_by_attributes_and_libraries_by_themselves() -> None:
    text = b"torch.ops.mine.gemm(a)\ngetattr(torch.ops.mine, name)(a)\ntorch.ops.aten.mm(a, b)\n"
    assert list(operators_named(text)) == ["torch.ops.mine.gemm", "torch.ops.mine.*"]


_BACKEND = """\
from subprocess import call
from torch.utils.cpp_extension import load


def toolkit_available():
    try:
        call(["nvcc"])
        return True
    except FileNotFoundError:
        return False


_C = {without}
try:
    from splats import csrc as _C
except ImportError:
    if toolkit_available():
        _C = load(name="splats", sources=["splats.cu"])
"""
_ASKING = """\
def _make_lazy(name):
    def call(*args):
        from ._backend import _C

        return getattr(_C, name)(*args)

    return call


march = _make_lazy("march")
"""
_BY_NAME = """\
def march(*args):
    from ._backend import _C

    return _C.march(*args)
"""
_GRID = """\
from . import cuda as _C


def render(means):
    return _C.march(means.contiguous(), 1)
"""


@pytest.mark.parametrize("cuda", [_ASKING, _BY_NAME])
@pytest.mark.parametrize(
    ("without", "told"), [("None", []), ("__import__('splats.plain')", ["MPS101", "MPS201"])]
)
def test_an_extension_that_could_not_be_imported_nor_built_is_nothing_to_call(
    cli: Cli, project: Path, cuda: str, without: str, told: list[str]
) -> None:
    files = {
        "setup.py": _SETUP.format(maker="CUDAExtension").replace('"splats.csrc"', 'f"splats.csrc"'),
        "splats/__init__.py": "",
        "splats/plain.py": "def march(*args):\n    return args[0]\n",
        "splats/cuda/__init__.py": cuda,
        "splats/cuda/_backend.py": _BACKEND.format(without=without),
        "splats/rendering.py": _GRID,
    }
    _write(project, {**files, "view.py": _PROGRAM})
    assert _codes(cli, "view.py") == told
