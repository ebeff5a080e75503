"""Where most of a project needs compiled CUDA kernels, what only that leads to is CUDA's too."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.project.neighbours import Neighbours
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile
from tests.conftest import Cli

_SETUP = """\
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="voxels",
    ext_modules=[CUDAExtension("voxel_cuda", ["voxel.cpp", "voxel.cu"])],
    cmdclass={"build_ext": BuildExtension},
)
"""
_LOSSES = """\
import torch


def weighted(scores, weights):
    return (scores * torch.tensor(weights).cuda()).sum()
"""
_TRAIN = """\
import sys

import torch
from lib.net import Net

from importlib import import_module


def main():
    loss = import_module("lib." + sys.argv[1])
    print(loss.weighted(Net()(torch.rand(3)), [1, 2, 3]))


if __name__ == "__main__":
    main()
"""
_NET = """\
import torch
import voxel_cuda


class Net(torch.nn.Module):
    def forward(self, x):
        return voxel_cuda.pool(x)
"""
_CONVERT = """\
import sys

print(open(sys.argv[1]).read().upper())
"""
DETECTOR = {
    "README.md": "Trains a detector.\n",
    "ops/setup.py": _SETUP,
    "ops/voxel.cu": "__global__ void pool() {}\n",
    "lib/__init__.py": "",
    "lib/net.py": _NET,
    "lib/losses.py": _LOSSES,
    "train.py": _TRAIN,
    "convert.py": _CONVERT,
}
_WITH_FALLBACK = _NET.replace(
    "import voxel_cuda\n",
    "try:\n    import voxel_cuda\nexcept ImportError:\n    import pooling as voxel_cuda\n",
)
_INSISTING = _NET.replace(
    "import voxel_cuda\n",
    "import builtins\n\ntry:\n    import voxel_cuda\nexcept ImportError:\n"
    "    if not getattr(builtins, 'IN_SETUP', False):\n        raise ImportError('build it')\n",
)


def write(folder: Path, **files: str) -> None:
    for place, text in {**DETECTOR, **files}.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / ".git").mkdir(exist_ok=True)


def found(folder: Path, name: str = "lib/losses.py", **files: str) -> list[str]:
    write(folder, **files)
    path = folder / name
    source = SourceFile(str(path), path.read_bytes())
    settings = Settings(extend_select=("MPS213",))
    return [finding.code for finding in lint(source, settings, elsewhere=Neighbours(settings))]


def with_(place: str, text: str) -> dict[str, str]:
    return {place: text}


def test_a_helper_of_programs_that_need_the_kernels_is_left_alone(tmp_path: Path) -> None:
    assert found(tmp_path) == []


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("lib/net.py", _WITH_FALLBACK),
        ("ops/setup.py", _SETUP.replace("CUDAExtension", "CppExtension")),
        ("show.py", "from lib.losses import weighted\n\nprint(weighted(1, [2]))\n"),
        ("tests/test_losses.py", "from lib.losses import weighted\n\n\ndef test_it():\n    pass\n"),
        ("show.ipynb", json.dumps({"cells": [{"cell_type": "code", "source": []}]})),
        (
            "lib/losses.py",
            _LOSSES + "\n\nif __name__ == '__main__':\n    print(weighted(1, [2]))\n",
        ),
        ("show.py", "from importlib import import_module\n\nprint(import_module('lib.losses'))\n"),
        ("show.py", "import runpy\nimport sys\n\nprint(runpy.run_path(sys.argv[1]))\n"),
    ],
    ids=["fallback", "for all", "program", "test", "notebook", "by itself", "by text", "by file"],
)
def test_it_is_told_where_a_mac_can_start_what_leads_to_it(
    tmp_path: Path, place: str, text: str
) -> None:
    if place.endswith(".ipynb"):
        rows = ["from lib.losses import weighted\n", "weighted(1, [2])\n"]
        cell = {"cell_type": "code", "source": rows}
        text = json.dumps({"cells": [cell]}, indent=1)
    assert found(tmp_path, **with_(place, text)) == ["MPS102"]


def test_a_folder_that_a_program_calls_its_run_path_leads_to_no_module(tmp_path: Path) -> None:
    made = "import os\n\nrun_path = os.path.join('out', input())\nos.mkdir(run_path)\n"
    assert found(tmp_path, **with_("show.py", made)) == []


def test_it_is_told_where_most_of_the_project_needs_no_kernels(tmp_path: Path) -> None:
    others = {f"tools/tool{number}.py": f"import torch\n{_CONVERT}" for number in range(9)}
    assert found(tmp_path, **others) == ["MPS102"]


@pytest.mark.parametrize("folder", ["data", "tests"])
def test_what_computes_nothing_by_torch_or_serves_tests_says_nothing(
    tmp_path: Path, folder: str
) -> None:
    text = _CONVERT if folder == "data" else "import torch\n\nprint(torch.ones(2))\n"
    more = {f"{folder}/part_{at}.py": text for at in range(9)}
    assert found(tmp_path, **more) == []


def test_a_mac_starts_nothing_whose_only_other_way_ends_in_an_error(tmp_path: Path) -> None:
    assert found(tmp_path, **with_("lib/net.py", _INSISTING)) == []


def test_a_program_that_imports_the_kernels_once_it_runs_is_one_of_them(tmp_path: Path) -> None:
    late = _TRAIN.replace("from lib.net import Net\n", "from lib.make import make\n").replace(
        "Net()", "make()"
    )
    make = "def make():\n    from lib.net import Net\n\n    return Net()\n"
    files = {"train.py": late, "lib/make.py": make}
    assert found(tmp_path, **files) == []
    maybe = make.replace("    from", "    if input():\n        from").replace(
        "    return", "        return"
    )
    files["lib/make.py"] = maybe
    assert found(tmp_path, **files) == ["MPS102"]


def test_a_program_that_chooses_among_models_for_cuda_alone_is_one_of_them(tmp_path: Path) -> None:
    chosen = (
        "import argparse\nfrom importlib import import_module\n\n"
        "parser = argparse.ArgumentParser()\n"
        "parser.add_argument('--model', default='{}')\n"
        "net = import_module(parser.parse_args().model).Net()\n"
        "loss = import_module('lib.' + input())\n"
    )
    own = {"net.py": _NET, "plain.py": "class Net:\n    pass\n"}
    assert found(tmp_path, **own, **with_("train.py", chosen.format("net"))) == []
    assert found(tmp_path, **with_("train.py", chosen.format("plain"))) == ["MPS102"]


def test_modules_that_import_each_other_need_what_one_of_them_needs(tmp_path: Path) -> None:
    files = {
        "lib/net.py": "from lib.ops import pool\n\n\nclass Net:\n    pass\n",
        "lib/ops.py": "from lib.more import pool\n",
        "lib/more.py": "import lib.net\nimport voxel_cuda\n\npool = voxel_cuda.pool\n",
    }
    assert found(tmp_path, **files) == []
    files["lib/more.py"] = "import lib.net\n\npool = max\n"
    assert found(tmp_path, **files) == ["MPS102"]


def test_a_part_is_found_where_its_own_setup_script_installs_it_from(tmp_path: Path) -> None:
    files = {
        "parts/voxels/setup.py": _SETUP,
        "parts/voxels/voxels/__init__.py": "from .pooling import pool\n",
        "parts/voxels/voxels/pooling.py": "import voxel_cuda\n\npool = voxel_cuda.pool\n",
        "ops/setup.py": "",
        "lib/net.py": "from voxels import pool\n\n\nclass Net:\n    pass\n",
    }
    assert found(tmp_path, **files) == []
    files["parts/voxels/voxels/pooling.py"] = "pool = max\n"
    assert found(tmp_path, **files) == ["MPS102"]


def test_a_package_for_cuda_alone_that_is_required_counts_and_is_told_itself(
    tmp_path: Path,
) -> None:
    files = {
        "ops/setup.py": "",
        "ops/voxel.cu": "",
        "requirements.txt": "torch\nflash-attn>=2\n",
        "lib/net.py": "import torch\nimport flash_attn\n\n\nclass Net:\n    pass\n",
    }
    assert found(tmp_path, **files) == []
    assert found(tmp_path, "lib/net.py", **files) == ["MPS213"]


def test_a_plain_package_at_the_head_is_none_that_needs_anything(tmp_path: Path) -> None:
    plain = {f"part{number}/__init__.py": "import torch\n" for number in range(9)}
    assert found(tmp_path, **plain, **with_("pyproject.toml", "")) == ["MPS102"]


def test_the_answer_is_the_same_from_everywhere(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(project)
    for asked in (["."], ["lib"], ["lib/losses.py"], [str(project / "lib" / "losses.py")]):
        assert cli("check", *asked).code == 0, asked
    monkeypatch.chdir(project / "lib")
    assert cli("check", "losses.py").code == 0
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(_LOSSES.encode())))
    assert cli("check", "--stdin-filename", "losses.py", "-").code == 0


def test_flake8_says_the_same(flake8: Cli, project: Path) -> None:
    write(project)
    assert flake8("--select", "MPS", "lib/losses.py") == (0, "", "")


def test_what_is_kept_is_asked_anew_once_a_program_leads_to_the_helper(
    cli: Cli, project: Path
) -> None:
    write(project)
    for path in project.rglob("*"):
        os.utime(path, (1, 1))  # What has just changed is not kept.
    assert cli("check", "lib/losses.py").code == 0
    assert cli("check", "lib/losses.py").code == 0
    (project / "show.py").write_text("from lib.losses import weighted\n\nprint(weighted(1, [2]))\n")
    assert cli("check", "lib/losses.py").code == 1
    (project / "show.py").unlink()
    assert cli("check", "lib/losses.py").code == 0


def test_fixes_leave_it_as_it_is(cli: Cli, project: Path) -> None:
    write(project)
    cli("fix", ".")
    cli("fix", "--unsafe-fixes", ".")
    assert (project / "lib" / "losses.py").read_text() == _LOSSES


def test_what_is_held_back_is_explained_by_what_the_project_lacks(cli: Cli, project: Path) -> None:
    write(project)
    told = cli("check", "--explain-silence", f"lib{os.sep}losses.py").out
    assert "MPS102" in told
    assert "cuda-projects/share" in told
    assert "voxel_cuda, which ops/setup.py builds, is for CUDA alone" in told
    assert "1 of 1 programs, with 100 % of what they lead to, cannot be started on a Mac" in told


def test_a_package_that_a_function_names_by_dots_alone_ends_no_check(tmp_path: Path) -> None:
    late = "import torch\n\n\ndef f():\n    from . import net\n\n    return torch.rand(3).cuda()\n"
    files = {"lib/__init__.py": "import voxel_cuda\n", "lib/late.py": late}
    assert found(tmp_path, "lib/late.py", **files) == []


_HELPER = (
    "from torch.utils.cpp_extension import {maker}\n\n\ndef extension():\n"
    "    return {maker}('voxel_cuda', ['voxel.cpp', 'voxel.cu'])\n"
)
_HELPED = (
    "from building import extension\nfrom setuptools import setup\n\n"
    "setup(name='voxels', ext_modules=[extension()])\n"
)


@pytest.mark.parametrize("maker", ["CUDAExtension", "CppExtension"])
def test_what_a_helper_of_the_setup_script_makes_is_built_by_that(
    tmp_path: Path, maker: str
) -> None:
    files = {"ops/setup.py": _HELPED, "ops/building.py": _HELPER.format(maker=maker)}
    told = found(tmp_path, **files)
    assert told == ([] if maker == "CUDAExtension" else ["MPS102"])


_ONCE = (
    "_library = None\n\n\ndef library():\n    global _library\n    if {test}:\n"
    "        import voxel_cuda\n\n        _library = voxel_cuda\n    return _library\n"
)


@pytest.mark.parametrize("test", ["_library is None", "input()"])
def test_what_a_function_imports_that_all_come_to_is_needed_by_all(
    tmp_path: Path, test: str
) -> None:
    train = (
        "from lib.losses import weighted\nfrom lib.once import library\n\n"
        "if __name__ == '__main__':\n    for turn in range(3):\n"
        "        print(library().pool(weighted([turn], [1])))\n"
    )
    files = {
        "ops/setup.py": _HELPED,
        "ops/building.py": _HELPER.format(maker="CUDAExtension"),
        "lib/net.py": "",
        "lib/once.py": _ONCE.format(test=test),
        "train.py": train,
        "convert.py": "",
    }
    assert found(tmp_path, **files) == (["MPS102"] if test == "input()" else [])
