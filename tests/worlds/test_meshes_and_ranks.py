"""Process groups that are there by what follows: a mesh of CUDA's devices, a rank that is asked
for, a device that each process takes."""

from __future__ import annotations

import pytest

from tests.conftest import Cli

from .conftest import comes, found, told_in_project

NVIDIA = "CUDA|GPUS"
EVERYWHERE = "CUDA|GPUS|MAC|PORTED|CPU"
_MESHES = "from torch.distributed.device_mesh import DeviceMesh, init_device_mesh\n"


@pytest.mark.parametrize(
    "mesh",
    [
        'init_device_mesh("cuda", mesh_shape=(8,), mesh_dim_names=("dp",))',
        'DeviceMesh("cuda", [0, 1])',
        'DeviceMesh.from_group(group, "cuda")',
        'init_device_mesh(device_type="cuda", mesh_shape=(8,))',
    ],
)
def test_a_mesh_of_cuda_devices_is_one_of_nccl(mesh: str) -> None:
    assert comes(f"{_MESHES}mesh = {mesh}\nwork(mesh)  # here\n") == NVIDIA


@pytest.mark.parametrize("place", ['"cpu"', "device_type", '"mps"'])
def test_any_other_mesh_is_for_all(place: str) -> None:
    assert comes(f"{_MESHES}mesh = init_device_mesh({place}, (8,))\nwork(mesh)  # here\n") == (
        EVERYWHERE
    )


_HELPER = """
import os
import torch


def init_distributed_mode(args):
    if "RANK" in os.environ and "WORLD_SIZE" in os.environ:
        args.rank = int(os.environ["RANK"])
        args.gpu = int(os.environ["LOCAL_RANK"])
    else:
        print("Not using distributed mode")
        args.distributed = False
        return
    args.dist_backend = "{backend}"
    torch.distributed.init_process_group(backend=args.dist_backend, rank=args.rank)
"""
_MAIN = """
import argparse

import torch
import torch.distributed as dist

from helper import init_distributed_mode


def main(args):
    if not args.debug:
        init_distributed_mode(args)
        {rank}
        torch.cuda.synchronize()
        print(rank)
    else:
        rank = 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--debug", action="store_true")
    main(parser.parse_args())
"""


def _told(cli: Cli, rank: str, backend: str = "nccl", main: str = _MAIN) -> list[str]:
    files = {
        "helper.py": _HELPER.format(backend=backend).lstrip("\n"),
        "main.py": main.format(rank=rank).lstrip("\n"),
    }
    return [code for file, _, code in told_in_project(cli, files) if file == "main.py"]


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("asked", ["get_rank", "get_world_size"])
def test_who_asks_for_his_rank_behind_what_may_have_joined_has_joined(cli: Cli, asked: str) -> None:
    assert _told(cli, f"rank = dist.{asked}()") == []


@pytest.mark.usefixtures("project")
def test_who_does_not_ask_or_has_joined_gloo_may_be_on_a_mac(cli: Cli) -> None:
    assert _told(cli, "rank = args.rank") == ["MPS201"]
    assert _told(cli, "rank = dist.get_rank()", backend="gloo") == ["MPS201"]
    nobody = _MAIN.replace("        init_distributed_mode(args)\n", "")
    assert _told(cli, "rank = dist.get_rank()", main=nobody) == ["MPS201"]
    guarded = "rank = dist.get_rank() if dist.is_initialized() else 0"
    assert _told(cli, guarded) == ["MPS201"]


_TRAINER = """
import platform

def work(rank, devices):
    device = devices[rank]
    torch.distributed.init_process_group(
        rank=rank, backend="gloo" if platform.system() == "Windows" else "nccl"
    )
    {device}
"""


def test_processes_that_take_a_cuda_device_on_windows_as_well_are_for_cuda() -> None:
    takes = _TRAINER.format(device="torch.cuda.set_device(device.index)")
    assert found(takes, "MPS219") == []


@pytest.mark.parametrize(
    "device", ["print(device)", "if torch.cuda.is_available(): torch.cuda.set_device(device.index)"]
)
def test_those_that_take_none_or_ask_first_are_told(device: str) -> None:
    assert len(found(_TRAINER.format(device=device), "MPS219")) == 1


def test_a_package_that_starts_processes_of_nccl_is_for_these() -> None:
    text = "from compressed_tensors.offload import init_dist\ninit_dist()\nwork()  # here\n"
    assert comes(text) == NVIDIA
    assert comes(text.replace("compressed_tensors.offload", "ours")) == EVERYWHERE


@pytest.mark.parametrize("test", ['"LOCAL_RANK" in os.environ', '"WORLD_SIZE" in os.environ'])
def test_what_a_launcher_sets_is_asked_for_before_several_processes(test: str) -> None:
    opposite = test.replace(" in ", " not in ")
    assert comes(f"import os\nif {test}:\n    torch.zeros(3)  # here\n") == NVIDIA
    asked = f"import os\nif {opposite}:\n    pass\nelse:\n    torch.zeros(3)  # here\n"
    assert comes(asked) == NVIDIA
    assert "MAC" in comes(f'GROUP = "gloo"\n{asked}').split("|")
