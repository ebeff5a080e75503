"""Builds of torch for GPUs look as the CPU build does, whichever build is installed here."""

from __future__ import annotations

import abc
import os
import platform
import subprocess
import sys
import types
from pathlib import Path

import pytest
import torch

from mpslint.verify.harness import absent

from .conftest import PROGRAMS, SOURCE, Run

NO_CUDA = {
    "cuda tensor": "AssertionError: Torch not compiled with CUDA enabled",
    "cuda.is_available": "False",
    "cuda.device_count": "0",
    "cuda.Stream": "RuntimeError: torch.cuda.Stream requires CUDA support",
    "cuda.Event": "RuntimeError: Tried to instantiate dummy base class Event",
    "cudnn": "False",
    "nccl": "False",
    "version": "None",
}
A_CUDA_BUILD = (
    "_cuda_getDeviceCount", "_cuda_init", "_CudaStreamBase", "_CudaDeviceProperties", "_cudart",
    "_cudnn", "_nccl_version", "_nvtx", "_MemPool", "_graph_pool_handle", "_scatter",
)  # fmt: skip


def fake_build(
    monkeypatch: pytest.MonkeyPatch, *names: str, **flags: bool
) -> types.SimpleNamespace:
    """A ``torch._C`` with these functions and flags, in a process without torch."""
    monkeypatch.setitem(sys.modules, "torch.version", types.ModuleType("torch.version"))
    monkeypatch.setattr(absent, "BUILT_FOR", set())
    return types.SimpleNamespace(**dict.fromkeys(names, print), **flags)


def test_what_a_cuda_build_adds_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    build = fake_build(monkeypatch, *A_CUDA_BUILD, "_get_cudnn_enabled", _has_cuda=True)
    assert set(absent.without_names(build)) == {*A_CUDA_BUILD, "_has_cuda"}
    assert vars(build) == {"_get_cudnn_enabled": print, "_has_cuda": False}
    assert {"cuda"} == absent.BUILT_FOR


def test_an_mps_build_says_that_it_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    build = fake_build(
        monkeypatch, "_mps_compileShader", "_mps_is_available", _has_mps=True, _has_cuda=False
    )
    absent.without_names(build)
    assert vars(build) == {"_mps_is_available": print, "_has_mps": False, "_has_cuda": False}
    assert {"mps"} == absent.BUILT_FOR


def test_the_version_of_cuda_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    build = fake_build(monkeypatch, _has_cuda=True)
    sys.modules["torch.version"].cuda = "13.0"  # type: ignore[attr-defined]
    absent.without_names(build)
    assert sys.modules["torch.version"].cuda is None  # type: ignore[attr-defined]


def test_nccl_goes_when_distributed_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    build = fake_build(monkeypatch, _c10d_init=lambda: True)
    distributed = types.ModuleType("torch._C._distributed_c10d")
    distributed.ProcessGroupNCCL = distributed.ProcessGroupGloo = object  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch._C._distributed_c10d", distributed)
    absent.without_names(build)
    assert build._c10d_init() is True
    assert not hasattr(distributed, "ProcessGroupNCCL")
    assert hasattr(distributed, "ProcessGroupGloo")


@pytest.mark.parametrize("device", ["cpu", "mps"])
def test_a_machine_without_cuda_is_one_on_every_build(harness: Run, device: str) -> None:
    seen = harness(PROGRAMS / "seen_devices.py", "--device", device).results()
    assert {name: seen[name] for name in NO_CUDA} == NO_CUDA


def test_a_simulated_mac_is_one_on_every_build(harness: Run) -> None:
    seen = harness(PROGRAMS / "seen_devices.py", "--device", "mps").results()
    assert (seen["mps.is_built"], seen["mps.is_available"]) == ("True", "True")


def test_a_simulated_gpu_is_one_on_every_build(harness: Run) -> None:
    seen = harness(PROGRAMS / "seen_devices.py", "--device", "cuda").results()
    assert (seen["cuda tensor"], seen["cuda.device_count"]) == (
        "tensor([0.], device='cuda:0')",
        "1",
    )
    assert (seen["mps.is_built"], seen["mps.is_available"]) == ("False", "False")


def plain(folder: Path, program: str, *arguments: str) -> str:
    """What a program prints that puts the simulator in place by itself."""
    script = folder / "program.py"
    script.write_text(program, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script), *arguments],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


# A build for CUDA has kernels of its own for the device; one made here stands for them.
A_KERNEL_OF_THE_BUILD = """
import sys
import torch
from mpslint.verify.harness import absent, simulator

name, call, built_for = sys.argv[1:]
absent.without_names(torch._C)
absent.BUILT_FOR.add(built_for)
key = "SparseCUDA" if "sparse" in name else "CUDA"
if not torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", key):
    library = torch.library.Library("aten", "IMPL")
    library.impl(name, lambda *args, **more: torch.full((1,), 7.0), key)
simulator.install("cuda", None, False)
x = torch.ones(2, device="cuda", requires_grad=True)
try:
    print("gave", eval(call).device)
except Exception as error:
    print(type(error).__name__)
"""
RMS_NORM = ("_fused_rms_norm", "torch.nn.functional.rms_norm(x, (2,))")


@pytest.mark.skipif(not hasattr(torch.ops.aten, "_fused_rms_norm"), reason="came with torch 2.9")
def test_a_compiled_kernel_of_the_build_gives_way_to_the_composition(tmp_path: Path) -> None:
    assert plain(tmp_path, A_KERNEL_OF_THE_BUILD, *RMS_NORM, "cuda") == "gave cuda:0\n"


def test_a_kernel_of_the_build_for_other_layouts_is_not_reached(tmp_path: Path) -> None:
    call = "torch.ops.aten.sparse_sampled_addmm(torch.diag(x).detach().to_sparse(), x, x)"
    said = plain(tmp_path, A_KERNEL_OF_THE_BUILD, "sparse_sampled_addmm", call, "cuda")
    assert said == "SimulatorLimit\n"


def test_a_kernel_of_the_build_for_sparse_tensors_gives_way_to_the_simulated_one(
    tmp_path: Path,
) -> None:
    name, call = "_sparse_coo_tensor_with_dims_and_tensors", "x.detach().to_sparse()._values()"
    assert plain(tmp_path, A_KERNEL_OF_THE_BUILD, name, call, "cuda") == "gave cuda:0\n"


def test_streams_and_events_are_what_torch_before_2_6_asks_them_to_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from mpslint.verify.harness.simulator import cuda_names, cuda_streams

    old = types.ModuleType("torch._streambase")
    old._StreamBase, old._EventBase = (  # type: ignore[attr-defined]
        abc.ABCMeta(name, (), {}) for name in ("_StreamBase", "_EventBase")
    )
    monkeypatch.setitem(sys.modules, old.__name__, old)
    cuda_names._be_of_torchs_kind()
    assert issubclass(cuda_streams.Stream, old._StreamBase)
    assert issubclass(cuda_streams.Event, old._EventBase)
    assert not issubclass(cuda_streams.Event, old._StreamBase)


# What torch before 2.10 has not.
WITHOUT_PYTHON_GUARD = """
import sys
import torch

vars(torch._C).pop("_acc", None)
from mpslint.verify.harness import absent, simulator

absent.without_names(torch._C)

device = sys.argv[1]
simulator.install(device, None, False)
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
model = model.to(device)
x = torch.ones(3, 4, device=device)
loss = model(x).square().mean() + model(2 * x).sum()
loss.backward()
print(loss.device, all(p.grad.device == loss.device for p in model.parameters()))
"""


@pytest.mark.skipif(
    platform.machine().lower() not in ("x86_64", "amd64", "aarch64"), reason="no code for it"
)
@pytest.mark.parametrize("device", ["mps", "cuda"])
def test_a_torch_without_guards_in_python_gets_one(tmp_path: Path, device: str) -> None:
    assert plain(tmp_path, WITHOUT_PYTHON_GUARD, device) == f"{device}:0 True\n"
