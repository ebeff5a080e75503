"""The simulated mps refuses what a Mac refuses, with PyTorch's own type and words."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import PROGRAMS, Run, run_program

# One worker runs the program once for all of these tests.
pytestmark = pytest.mark.xdist_group("harness_mps")

NUMPY = "TypeError: can't convert mps:0 device type tensor to numpy. Use Tensor.cpu()"
TWO = "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, mps:0 and cpu!"  # noqa: E501
GRAPH = "RuntimeError: Placeholder storage has not been allocated on MPS device!"
INDEX = "RuntimeError: indices should be either on cpu or on the same device as the indexed tensor (cpu)"  # noqa: E501
FLOAT64 = (
    "TypeError: Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support "
    "float64. Please use float32 instead."
)
NO_CUDA = "AssertionError: Torch not compiled with CUDA enabled"
NO_KERNEL = "is not currently implemented for the MPS device. If you want this op"
LINEAR = "RuntimeError: Tensor for argument {} is on cpu but expected on mps"

REFUSED = {
    "numpy": NUMPY,
    "np.asarray": NUMPY,
    "numpy function": NUMPY,
    "add": TWO,
    "add reversed": TWO,
    "add_ to cpu": TWO,
    "0-dim mps to cpu": TWO,
    "where": TWO,
    "mse": TWO,
    "out on cpu": TWO,
    "matmul": GRAPH,
    "cat": GRAPH,
    "cross entropy": GRAPH,
    "layer norm": GRAPH,
    "batch norm": GRAPH,
    "embedding cpu index": GRAPH,
    "embedding cpu weight": GRAPH,
    "linear cpu input": LINEAR.format("input"),
    "linear cpu weight": LINEAR.format("weight"),
    "conv cpu input": "RuntimeError: slow_conv2d_forward_mps: input(device='cpu') and weight(device=mps:0')  must be on the same device",  # noqa: E501
    "conv cpu weight": "RuntimeError: Input type (MPSFloatType) and weight type (torch.FloatTensor) should be the same",  # noqa: E501
    "cpu indexed by mps": INDEX,
    "cpu masked by mps": INDEX,
    "masked_fill": "RuntimeError: expected self and mask to be on the same device, but got mask on cpu and self on mps:0",  # noqa: E501
    "cpu gradient": "RuntimeError: attempting to assign a gradient with device type 'cpu' to a tensor with device type 'mps'",  # noqa: E501
    "attention": "RuntimeError: Expected query, key, and value to have the same device type",
    "cpu generator": "RuntimeError: Expected a 'mps' device type for generator but found 'cpu'",
    "mps generator on cpu": "RuntimeError: Expected a 'cpu' device type for generator but found 'mps'",  # noqa: E501
    "randperm generator": "RuntimeError: Expected a 'cpu' device type for generator but found 'mps'",  # noqa: E501
    "shuffle with default device": "RuntimeError: Expected a 'mps' device type for generator but found 'cpu'",  # noqa: E501
    "float64 to": FLOAT64,
    "float64 factory": FLOAT64,
    "float64 array": FLOAT64,
    "double()": FLOAT64,
    "tensor of array": FLOAT64,
    "as_tensor of array": FLOAT64,
    "float64 module": FLOAT64,
    "default float64": FLOAT64,
    "sum in float64": FLOAT64,
    "linspace float64": FLOAT64,
    "randn float64": FLOAT64,
    "load float64": FLOAT64,
    "float_power": FLOAT64,
    "to cpu float64": FLOAT64,
    "complex128": "TypeError: Trying to convert ComplexDouble to the MPS backend but it does not have support for that dtype.",  # noqa: E501
    "float8": "TypeError: Trying to convert Float8_e4m3fn to the MPS backend but it does not have support for that dtype.",  # noqa: E501
    "17 dimensions": "RuntimeError: MPS supports tensors with dimensions <= 16",
    "adaptive pool": "RuntimeError: Adaptive pool MPS: input sizes must be divisible by output sizes",  # noqa: E501
    "projected lstm": "RuntimeError: LSTM with projections is not currently supported with MPS.",
    "adaptive maximum": "SimulatorLimit: simulated mps: adaptive_max_pool2d gives wrong values on MPS up to torch 2.13",  # noqa: E501
    "integer linear": "RuntimeError: MPS device does not support linear for non-float inputs",
    "integer conv": "RuntimeError: Convolution is supported only for Floating types",
    "cuda tensor": NO_CUDA,
    "cuda()": NO_CUDA,
    "module.cuda()": NO_CUDA,
    "to cuda": NO_CUDA,
    "cuda.synchronize": NO_CUDA,
    "cuda.get_device_name": NO_CUDA,
    "cuda.current_device": NO_CUDA,
    "cuda mem_get_info": NO_CUDA,
    "cuda.set_device": "AttributeError: module 'torch._C' has no attribute '_cuda_setDevice'",
    "cuda.Stream": "RuntimeError: torch.cuda.Stream requires CUDA support",
    "cuda.Event": "RuntimeError: Tried to instantiate dummy base class Event",
    "cuda.FloatTensor": "TypeError: type torch.cuda.FloatTensor not available",
    "cuda generator": "RuntimeError: Cannot get CUDA generator without ATen_cuda library",
    "load to cuda": "AttributeError: module 'torch.mps' has no attribute 'current_device'",
    "metal shader": "SimulatorLimit: simulated mps: Metal shaders cannot run on this machine",
    "compressed sparse": "SimulatorLimit: simulated mps:",
}
WITHOUT_KERNEL = {
    "eig": "aten::linalg_eig",
    "svdvals": "aten::_linalg_svd.U",
}
ALLOWED = [
    "numpy(force)", "tolist", "0-dim cpu", "index by cpu", "set a row from cpu", "cpu().double()",
    "complex64", "bfloat16", "int64", "adaptive pool, divisible", "svd falls back",
    "det backward", "sparse", "sparse moved",
    "cuda.empty_cache", "cuda.manual_seed_all", "cuda.memory_allocated", "cuda.is_bf16_supported",
]  # fmt: skip


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("mps_contract")
    return run_program(folder, PROGRAMS / "mps_contract.py", "--device", "mps")


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_it_is_refused_in_the_words_of_pytorch(done: Any, name: str) -> None:
    found = done.results()[name]
    assert found is not None, "it was allowed"
    assert found.startswith(REFUSED[name])


@pytest.mark.parametrize("name", sorted(WITHOUT_KERNEL))
def test_an_operator_without_a_kernel_names_itself(done: Any, name: str) -> None:
    found = done.results()[name]
    assert found.startswith(f"NotImplementedError: The operator '{WITHOUT_KERNEL[name]}")
    assert NO_KERNEL in found


@pytest.mark.parametrize("name", ALLOWED)
def test_it_is_allowed(done: Any, name: str) -> None:
    assert done.results()[name] is None


def test_every_case_is_expected_to_do_something(done: Any) -> None:
    assert set(done.results()) == {*REFUSED, *WITHOUT_KERNEL, *ALLOWED}


def test_a_limit_that_the_script_swallowed_is_still_reported(done: Any) -> None:
    assert done.code == 96
    assert done.report["outcome"] == "limit"
    assert any("Metal shaders" in limit for limit in done.report["limits"])


def test_an_operator_that_always_falls_back_is_counted_and_warned_about(quick: Run) -> None:
    script = "import torch\nx = torch.ones(3, 2, device='mps')\nfor _ in range(2):\n    torch.linalg.svd(x)\n"  # noqa: E501
    run = quick(script, "--device", "mps")
    assert run.code == 0, run.err
    (row,) = run.report["fallbacks"]
    assert (row["op"], row["line"], row["count"]) == ("aten::linalg_svd", 4, 2)
    assert run.err.count("will fall back to run on the CPU") == 1


def test_operators_of_other_libraries_are_a_limit_not_an_error_of_the_script(quick: Run) -> None:
    script = """
import torch
library = torch.library.Library("elsewhere", "DEF")
library.define("twice(Tensor x) -> Tensor")
library.impl("twice", lambda x: x * 2, "CPU")
torch.ops.elsewhere.twice(torch.ones(2, device="mps"))
"""
    run = quick(script, "--device", "mps")
    assert run.code == 96
    assert run.report["outcome"] == "limit"
    assert "elsewhere::twice" in run.report["limits"][0]


@pytest.mark.parametrize(
    ("version", "works"), [("2.5", False), ("2.13", False), ("2.14", True), ("2.15", True)]
)
def test_the_operator_table_is_that_of_the_release(quick: Run, version: str, works: bool) -> None:
    script = "import torch\ntorch.linalg.eigh(torch.eye(2, device='mps'))\n"
    run = quick(script, "--device", "mps", "--torch-version", version)
    assert run.report["simulates"] == version
    assert (run.report["outcome"] == "finished") is works, run.err
    if not works:
        assert "aten::_linalg_eigh" in run.report["error"]["message"]


def test_a_release_without_a_table_is_unavailable(quick: Run) -> None:
    run = quick("import torch\nprint('ran')\n", "--device", "mps", "--torch-version", "9.9")
    assert run.code == 97
    assert run.report["outcome"] == "unavailable"
    assert "9.9" in run.report["error"]["message"]
    assert "ran" not in run.out
