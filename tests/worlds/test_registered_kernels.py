"""A type of device that a kernel is registered for is a key of torch's: nothing is put there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_OPS = """
import torch
from {module} import register

def adamw(p, g):
    p.sub_(g)

register("{operator}", "cuda")(adamw)
"""


def _told(cli: Cli, folder: Path, ops: str, **files: str) -> list[str]:
    (folder / "ops.py").write_text(ops.lstrip("\n"))
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    ran = cli("check", "--output-format", "json", "ops.py")
    return [finding["code"] for finding in json.loads(ran.out)]


@pytest.mark.parametrize(
    "library",
    [
        "import torch\n\nregister = torch.library.register_kernel\n",
        "import torch\n\ndef register(op, types):\n    return torch.library.impl(op, types)\n",
        "import torch\n\ndef register(op, key):\n    return torch.library.impl(op, types=key)\n",
    ],
)
def test_what_a_module_hands_on_to_torch_library_places_nothing(
    cli: Cli, project: Path, library: str
) -> None:
    ops = _OPS.format(module="library", operator="adamw")
    assert _told(cli, project, ops, library=library) == []


def test_who_is_given_the_name_of_an_operator_registers_it(cli: Cli, project: Path) -> None:
    ops = _OPS.format(module="somewhere.else_", operator="bits::optimizer_update.out")
    assert _told(cli, project, ops) == []


def test_what_is_to_be_put_somewhere_is_told_beside_the_name(cli: Cli, project: Path) -> None:
    ops = "from somewhere.else_ import bench\n\nbench('bits::adamw', device='cuda')\n"
    assert _told(cli, project, f"import torch\n{ops}") == ["MPS101"]


@pytest.mark.parametrize("operator", ["runs/adamw", "adamw", "http://adamw", "a::b c"])
def test_any_other_text_may_name_what_is_put_there(cli: Cli, project: Path, operator: str) -> None:
    ops = _OPS.format(module="somewhere.else_", operator=operator)
    assert _told(cli, project, ops) == ["MPS101"]


def test_who_places_something_as_well_is_told(cli: Cli, project: Path) -> None:
    library = """
import torch

def register(op, types):
    torch.zeros(1, device=types)
    return torch.library.register_kernel(op, types)
"""
    ops = _OPS.format(module="library", operator="adamw")
    assert _told(cli, project, ops, library=library) == ["MPS101"]


_KERNEL = """
import torch
from somewhere.else_ import register

@register("bits::adamw", {types})
def _(p):
    workspace = torch.zeros(8, device="cuda")
    torch.cuda.synchronize()
    return p + workspace
"""


@pytest.mark.parametrize("types", ['"cuda"', '"CUDA"', 'device_types="cuda"'])
def test_a_kernel_that_is_registered_for_cuda_runs_there(
    cli: Cli, project: Path, types: str
) -> None:
    assert _told(cli, project, _KERNEL.format(types=types)) == []


def test_so_does_one_that_torch_makes_an_operator_of(cli: Cli, project: Path) -> None:
    torch_s = "from torch.library import custom_op as register"
    ops = _KERNEL.replace("from somewhere.else_ import register", torch_s)
    assert _told(cli, project, ops.format(types='device_types="cuda"')) == []
    assert _told(cli, project, ops.format(types="mutates_args=()")) == ["MPS101", "MPS201"]


def test_and_one_that_is_registered_behind_its_definition(cli: Cli, project: Path) -> None:
    ops = """
import torch
from somewhere.else_ import register

def _adamw(p):
    torch.cuda.synchronize()
    return p

register("bits::adamw", {types})(_adamw)
"""
    assert _told(cli, project, ops.format(types='"cuda"')) == []
    assert _told(cli, project, ops.format(types='"cpu"')) == ["MPS201"]


@pytest.mark.parametrize("types", ['"cpu"', "None", '("cpu", "cuda")', '"default"'])
def test_one_for_all_or_for_others_is_told(cli: Cli, project: Path, types: str) -> None:
    assert _told(cli, project, _KERNEL.format(types=types)) == ["MPS101", "MPS201"]
