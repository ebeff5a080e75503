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


_KERNELS = """
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, {maker}

setup(
    name="engine",
    ext_modules=[{maker}(name="engine", sources=["bind.cpp", "gemm.cu"])],
    cmdclass={{"build_ext": BuildExtension}},
)
"""
_LAYER = """
import torch
{guarded}

def build(width):
    return torch.nn.Linear(width, width).cuda()
"""
_PLAIN = "import engine\n"
_OPTIONAL = "try:\n    import engine\nexcept ImportError:\n    engine = None\n"


def _checked(cli: Cli) -> list[tuple[str, str]]:
    ran = cli("check", "--output-format", "json", ".")
    return [(Path(item["filename"]).name, item["code"]) for item in json.loads(ran.out)]


def _project(project: Path, layer: str = _LAYER.format(guarded=_PLAIN), **scripts: str) -> None:
    (project / "pyproject.toml").write_text('[project]\nname = "chat"\n')
    for folder, maker in scripts.items():
        (project / "csrc" / folder).mkdir(parents=True)
        (project / "csrc" / folder / "setup.py").write_text(_KERNELS.format(maker=maker))
    (project / "chat").mkdir()
    (project / "chat" / "__init__.py").touch()
    (project / "chat" / "layer.py").write_text(layer)


def test_a_module_that_another_folder_of_the_project_builds_for_cuda_is_for_cuda(
    cli: Cli, project: Path
) -> None:
    _project(project, kernels="CUDAExtension")
    assert _checked(cli) == []


def test_a_module_that_another_folder_builds_for_the_cpu_is_for_all(
    cli: Cli, project: Path
) -> None:
    _project(project, kernels="CppExtension")
    assert _checked(cli) == [("layer.py", "MPS102")]


def test_a_module_that_two_folders_build_in_two_ways_is_for_all(cli: Cli, project: Path) -> None:
    _project(project, kernels="CUDAExtension", fallback="CppExtension")
    assert _checked(cli) == [("layer.py", "MPS102")]


def test_a_file_that_goes_on_without_such_a_module_is_for_all(cli: Cli, project: Path) -> None:
    _project(project, _LAYER.format(guarded=_OPTIONAL), kernels="CUDAExtension")
    assert _checked(cli) == [("layer.py", "MPS102")]


def test_another_module_of_the_same_last_name_is_not_meant(cli: Cli, project: Path) -> None:
    _project(project, _LAYER.format(guarded="import other.engine\n"), kernels="CUDAExtension")
    assert _checked(cli) == [("layer.py", "MPS102")]


@pytest.mark.parametrize(
    ("initial", "found"),
    [
        (_PLAIN, []),
        ("from .kernels import gemm\n", []),
        (_OPTIONAL, [("layer.py", "MPS102")]),
        (
            "try:\n    from .kernels import gemm\nexcept ImportError:\n    pass\n",
            [("layer.py", "MPS102")],
        ),
    ],
)
def test_a_module_comes_after_its_package_and_what_that_needs(
    cli: Cli, project: Path, initial: str, found: list[tuple[str, str]]
) -> None:
    _project(project, _LAYER.format(guarded=""), kernels="CUDAExtension")
    (project / "chat" / "__init__.py").write_text(initial)
    (project / "chat" / "kernels.py").write_text("from engine import gemm\n")
    assert _checked(cli) == found


def test_who_imports_a_module_imports_its_package_first(cli: Cli, project: Path) -> None:
    _project(project, "NAME = 'layer'\n", kernels="CUDAExtension")
    (project / "chat" / "__init__.py").write_text(_PLAIN)
    (project / "run.py").write_text("from chat.layer import NAME\n" + _LAYER.format(guarded=""))
    assert _checked(cli) == []


def test_a_program_that_lies_in_a_package_does_not_import_it(cli: Cli, project: Path) -> None:
    program = _LAYER.format(guarded="") + '\n\nif __name__ == "__main__":\n    build(3)\n'
    _project(project, program, kernels="CUDAExtension")
    (project / "chat" / "__init__.py").write_text(_PLAIN)
    assert _checked(cli) == [("layer.py", "MPS102")]


def test_what_runs_with_a_file_of_a_package_may_be_run_by_its_path(cli: Cli, project: Path) -> None:
    _project(project, "import torch\n\nNOISE = torch.rand(3).cuda()\n", kernels="CUDAExtension")
    (project / "chat" / "__init__.py").write_text(_PLAIN)
    assert _checked(cli) == [("layer.py", "MPS102")]


@pytest.mark.parametrize(
    ("also", "found"), [("import engine\n", []), ("", [("layer.py", "MPS213")])]
)
def test_a_package_for_cuda_is_no_fault_of_a_module_of_kernels(
    cli: Cli, project: Path, also: str, found: list[tuple[str, str]]
) -> None:
    _project(project, f"import torch\n{also}import flash_attn\n", kernels="CUDAExtension")
    assert _checked(cli) == found
