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
_BUILDING_PLAINLY = """
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension

setup(name="steps", ext_modules=[{}], cmdclass={{"build_ext": BuildExtension}})
"""
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


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("'sampling'", []),
        ("'other'", [("check.py", "MPS102")]),
        ("'sampling'\n    name = find()", [("check.py", "MPS102")]),
    ],
    ids=["this one", "another", "bound twice"],
)
def test_the_name_of_what_is_built_may_stand_in_a_variable(
    cli: Cli, project: Path, named: str, told: list[tuple[str, str]]
) -> None:
    script = (
        "from setuptools import setup\nfrom torch.utils.cpp_extension import CUDAExtension\n\n\n"
        f"def extensions():\n    name = {named}\n"
        "    return [CUDAExtension(name=name, sources=['vision.cu'])]\n\n\n"
        "setup(ext_modules=extensions())\n"
    )
    assert _found(cli, project, script) == told


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
    ran = cli("check", "--extend-select", "MPS213", "--output-format", "json", ".")
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
    for name in ("speak.py", "listen.py"):
        (project / name).write_text(
            "import sys\n\nprint(sys.argv)\n"
        )  # Most of the project needs no kernels.
    assert _checked(cli) == [("layer.py", "MPS102")]


@pytest.mark.parametrize(
    ("also", "found"), [("import engine\n", []), ("", [("layer.py", "MPS213")])]
)
def test_a_package_for_cuda_is_no_fault_of_a_module_of_kernels(
    cli: Cli, project: Path, also: str, found: list[tuple[str, str]]
) -> None:
    _project(project, f"import torch\n{also}import flash_attn\n", kernels="CUDAExtension")
    assert _checked(cli) == found


_EXTENSION = """
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(name="net", ext_modules=[CUDAExtension("ops._ext", ["src/ops.cu"])])
"""
_MOVING = "import torch\n\n\ndef moved(x):\n    return torch.relu(x.cuda())\n"


def _inner_package(project: Path, kernels: str) -> None:
    """A package whose programs are started in its folder, with compiled operators below."""
    lib = project / "net" / "lib"
    (lib / "ops").mkdir(parents=True)
    (lib / "utils").mkdir()
    (project / "setup.py").write_text(_EXTENSION)
    for folder in (project / "net", lib / "ops", lib / "utils"):
        (folder / "__init__.py").write_text("")
    (lib / "__init__.py").write_text("from .model import Model\n")
    (lib / "model.py").write_text("from lib.ops.sample import sample\n\n\nclass Model:\n    pass\n")
    (lib / "ops" / "sample.py").write_text(f"{kernels}\n\n\ndef sample(x):\n    return x\n")
    (lib / "utils" / "moving.py").write_text(_MOVING)
    train = "from lib.utils.moving import moved\n\nimport torch\n\nprint(moved(torch.ones(2)))\n"
    (project / "net" / "train.py").write_text(train)


def _codes(cli: Cli) -> list[str]:
    ran = cli("check", "--output-format", "json", ".")
    return [item["code"] for item in json.loads(ran.out)]


@pytest.mark.parametrize("kernels", ["from lib.ops import _ext", "from . import _ext"])
def test_a_module_lies_behind_the_operators_that_its_package_imports(
    cli: Cli, project: Path, kernels: str
) -> None:
    _inner_package(project, kernels)
    assert _codes(cli) == []


def test_a_package_that_goes_on_without_its_operators_is_for_all(cli: Cli, project: Path) -> None:
    _inner_package(
        project, "try:\n    from lib.ops import _ext\nexcept ImportError:\n    _ext = None"
    )
    assert "MPS102" in _codes(cli)


_WRAPPED = "from torch.utils.ffi import _wrap_function\nfrom ._knn import lib as _lib\n"


@pytest.mark.parametrize(("wrapper", "codes"), [(_WRAPPED, []), ("", ["MPS102"])])
def test_what_needs_a_part_of_torch_that_is_gone_runs_on_no_torch_with_mps(
    cli: Cli, project: Path, wrapper: str, codes: list[str]
) -> None:
    kernels = project / "knn" / "kernels"
    kernels.mkdir(parents=True)
    (project / "README.md").write_text("Neighbours.\n")
    (kernels / "__init__.py").write_text(wrapper)
    (kernels.parent / "__init__.py").write_text("from knn import kernels\n")
    (project / "use.py").write_text("import torch\nimport knn\n\nprint(torch.ones(2).cuda())\n")
    assert _codes(cli) == codes


def _told_of_script(cli: Cli, project: Path, maker: str) -> list[str]:
    (project / "setup_cuda.py").write_text(
        "from setuptools import setup\nfrom torch.utils import cpp_extension\n\n"
        f"setup(ext_modules=[cpp_extension.{maker}('quant_kernel', ['quant.cpp'])])\n"
    )
    (project / "README.md").write_text("# Quantised\n")
    (project / "bench.py").write_text(
        "import torch\nimport quant_kernel\n\nquant_kernel.multiply(torch.ones(3).cuda())\n"
    )
    ran = cli("check", "--output-format", "json", "bench.py")
    return [item["code"] for item in json.loads(ran.out)]


def test_a_setup_script_of_its_own_for_cuda_builds_for_cuda(cli: Cli, project: Path) -> None:
    assert _told_of_script(cli, project, "CUDAExtension") == []


def test_a_setup_script_of_its_own_for_all_builds_for_all(cli: Cli, project: Path) -> None:
    assert _told_of_script(cli, project, "CppExtension") == ["MPS102"]


_HELPED = """
import torch
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension, CUDAExtension


def make_extension(name, package, sources, kernels=()):
    maker = CppExtension
    if torch.cuda.is_available():
        maker = CUDAExtension
        sources = [*sources, *kernels]
    return maker(name={name}, sources=[f"{{package}}/{{one}}" for one in sources])


setup(
    name="chat",
    ext_modules=[
        make_extension(name="other", package="chat.other", sources=["bind.cpp", "{other}"]),
        make_extension("engine", "chat", ["bind.cpp"], kernels=["gemm.cu"]),
    ],
    cmdclass={{"build_ext": BuildExtension}},
)
"""
_WITHIN = _LAYER.format(guarded="from . import engine\n")


@pytest.mark.parametrize(
    "name", ["'{}.{}'.format(package, name)", 'f"{package}.{name}"', 'package + "." + name']
)
def test_what_a_function_of_the_script_builds_from_kernels_everywhere_is_for_cuda(
    cli: Cli, project: Path, name: str
) -> None:
    _project(project, _WITHIN)
    (project / "setup.py").write_text(_HELPED.format(name=name, other="other.cu"))
    assert _checked(cli) == []


def test_the_function_may_give_what_it_builds_a_name_first(cli: Cli, project: Path) -> None:
    """OpenPCDet: `cuda_ext = CUDAExtension(name='%s.%s' % (module, name))`, `return cuda_ext`."""
    _project(project, _WITHIN)
    script = _HELPED.format(name="'%s.%s' % (package, name)", other="other.cu")
    made = script.replace("    return maker(", "    built = maker(").replace(
        "for one in sources])\n", "for one in sources])\n    return built\n"
    )
    assert "return built" in made
    (project / "setup.py").write_text(made)
    assert _checked(cli) == []


def test_what_a_function_builds_and_keeps_is_not_what_it_gives(cli: Cli, project: Path) -> None:
    _project(project, _WITHIN)
    script = _HELPED.format(name='f"{package}.{name}"', other="other.cu")
    made = script.replace("    return maker(", "    built = maker(").replace(
        "for one in sources])\n", "for one in sources])\n    return None\n"
    )
    (project / "setup.py").write_text(made)
    assert _checked(cli) == [("layer.py", "MPS102")]


def test_what_it_builds_of_c_plus_plus_where_there_is_no_cuda_is_for_all(
    cli: Cli, project: Path
) -> None:
    _project(project, _WITHIN)
    (project / "setup.py").write_text(_HELPED.format(name='f"{package}.{name}"', other="other.cpp"))
    assert _checked(cli) == [("layer.py", "MPS102")]


@pytest.mark.parametrize(("kernels", "told"), [("voxelize_cuda", 0), ("voxelize_fast", 1)])
def test_an_extension_of_others_is_for_what_its_name_says(
    cli: Cli, project: Path, kernels: str, told: int
) -> None:
    (project / "voxels.py").write_text(f"import {kernels}\n\n\ndef f(x):\n    return x\n")
    program = project / "run.py"
    program.write_text("import torch\nfrom voxels import f\n\nprint(f(torch.rand(3).cuda()))\n")
    found = cli("check", "--no-cache", "--output-format", "json", "run.py")
    assert len(json.loads(found.out)) == told


def test_a_function_of_such_a_name_is_no_extension(cli: Cli, project: Path) -> None:
    (project / "steps.py").write_text("def to_cuda(x):\n    return x.cuda()\n")
    program = project / "run.py"
    program.write_text("import torch\nfrom steps import to_cuda\n\nprint(torch.rand(3).cuda())\n")
    found = cli("check", "--no-cache", "--output-format", "json", "run.py")
    assert [row["code"] for row in json.loads(found.out)] == ["MPS102"]


@pytest.mark.parametrize("where", ["steps_cuda.py", "setup.py"])
def test_one_of_such_a_name_that_the_project_has_or_builds_for_all_is_for_all(
    cli: Cli, project: Path, where: str
) -> None:
    building = "CppExtension('steps_cuda', ['steps.cpp'])"
    text = _BUILDING_PLAINLY.format(building) if where == "setup.py" else "f = len\n"
    (project / where).write_text(text)
    program = project / "run.py"
    program.write_text("import torch\nimport steps_cuda\n\nsteps_cuda.f(torch.rand(3).cuda())\n")
    found = cli("check", "--no-cache", "--output-format", "json", "run.py")
    assert [row["code"] for row in json.loads(found.out)] == ["MPS102"]


_WHERE_CUDA_IS = """
import torch

if torch.cuda.is_available():
    import sampling


class Sampled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value):
        return sampling.forward(value)
"""
_COMPARISON = """
import torch
from functions.sampled import Sampled


def compare():
    value = torch.rand(3).cuda()
    {used}
    print(value)


compare()
"""
_FORCED = _REFUSING.replace("torch.cuda.is_available() and", "FORCED and").replace(
    "\n\ndef extensions", 'import os\nFORCED = os.environ.get("FORCE_CUDA")\n\n\ndef extensions'
)


def _compared(cli: Cli, project: Path, used: str, script: str = _FORCED) -> list[str]:
    ops = project / "ops"
    (ops / "functions").mkdir(parents=True)
    (ops / "setup.py").write_text(script)
    (ops / "functions" / "sampled.py").write_text(_WHERE_CUDA_IS)
    (ops / "compare.py").write_text(_COMPARISON.format(used=used))
    return [code for name, code in _checked(cli) if name == "compare.py"]


@pytest.mark.parametrize(
    "used",
    [
        "Sampled.apply(value)",
        "print(map(Sampled.apply, value))",
        "with torch.no_grad():\n        Sampled.apply(value)",
        "with torch.no_grad():\n        return Sampled.apply(value)",
        "with torch.no_grad():\n        with torch.cuda.device(0):\n"
        "            value = Sampled.apply(value)\n        return value",
        "with Sampled.apply(value):\n        return value",
    ],
)
def test_a_function_that_goes_on_to_kernels_that_no_mac_has_is_for_cuda(
    cli: Cli, project: Path, used: str
) -> None:
    assert _compared(cli, project, used) == []


@pytest.mark.parametrize(
    "used",
    [
        "value.sum()",
        "if value.is_cuda:\n        Sampled.apply(value)",
        "value.is_cuda and Sampled.apply(value)",
        "print(lambda: Sampled.apply(value))",
        "if len(value) > 3:\n        return value\n    Sampled.apply(value)",
        "with torch.no_grad():\n        if value.is_cuda:\n            Sampled.apply(value)",
        "with torch.no_grad():\n        if value.is_cuda:\n            return value\n"
        "        Sampled.apply(value)",
        "with torch.no_grad():\n        if value.is_cuda:\n            return value\n"
        "    Sampled.apply(value)",
        "print(Sampled(value))",
        "print({key: Sampled.apply(key) for key in value})",
    ],
)
def test_a_function_that_may_do_without_them_is_told_of(cli: Cli, project: Path, used: str) -> None:
    assert _compared(cli, project, used) == ["MPS102"]


def test_a_function_that_goes_on_to_what_is_built_everywhere_is_told_of(
    cli: Cli, project: Path
) -> None:
    assert _compared(cli, project, "Sampled.apply(value)", _BUILDING_FOR_ALL) == ["MPS102"]
