"""``torch.distributed`` with tensors of the simulated device, as gloo does it.

On CUDA gloo copies to the host, sends, and copies back. A CPU build has the operators registered
for CUDA and nothing behind them: called, they end the process. What gloo answers was measured on
an NVIDIA H200 (torch 2.11). MPS has none of these operators.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..recorder import RECORDER
from .retag import to_host
from .state import SIM, limit

Tensor = torch.Tensor
Kernel = Callable[..., Any]

NAMESPACE = "c10d"

# ProcessGroupGloo.cpp: the functions that take CUDA tensors.
_WORKING = {
    "allreduce_", "broadcast_", "reduce_", "allgather_", "_allgather_base_", "gather_", "scatter_",
    "reduce_scatter_", "_reduce_scatter_base_", "alltoall_base_", "alltoall_", "barrier",
    "reduce_scatter_tensor_coalesced_", "allgather_into_tensor_coalesced_",
}  # fmt: skip
_REFUSED = {
    "allreduce_coalesced_": "ProcessGroupGloo::allreduce_coalesced: unsupported device type cuda",
    "allgather_coalesced_": "ProcessGroupGloo::allgather_coalesced: unsupported device type cuda",
    # gloo hands the address to the network, and the kernel cannot read it
    "send": "[gloo/transport/tcp/pair.cc] writev: Bad address",
    "recv_": "[gloo/transport/tcp/pair.cc] readv: Bad address",
    "recv_any_source_": "[gloo/transport/tcp/pair.cc] readv: Bad address",
}


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in _tensors(item)]
    return []


def _to_host(value: Any) -> Any:
    if isinstance(value, Tensor):
        return to_host(value) if value.device.type == SIM.name else value
    if isinstance(value, (list, tuple)):
        return [_to_host(item) for item in value]
    return value


def _require_one_device(name: str, tensors: list[Tensor]) -> None:
    for index, tensor in enumerate(tensors):
        if tensor.device.type != SIM.name:
            raise RuntimeError(
                f"ProcessGroupGloo::{name.strip('_')}: invalid tensor type at index {index} "
                f"(expected TensorOptions(device={SIM.device}), got "
                f"TensorOptions(device={tensor.device}))"
            )


def _with_originals(result: Any, originals: list[Tensor]) -> Any:
    """Collectives return the tensors they wrote to, alone or beside the work to wait for."""
    if isinstance(result, tuple):
        return tuple(_with_originals(item, originals) for item in result)
    if isinstance(result, Tensor):
        return next(t for t in originals if t.data_ptr() == result.data_ptr())
    if isinstance(result, list):
        return [_with_originals(item, originals) for item in result]
    return result


def _on_the_host(name: str, operator: Any) -> Kernel:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        tensors = _tensors(args) + _tensors(list(kwargs.values()))
        _require_one_device(name, tensors)
        RECORDER.operation()
        # Host views share their memory with the tensors: what arrives there has arrived here.
        keywords = {key: _to_host(value) for key, value in kwargs.items()}
        result = operator(*[_to_host(value) for value in args], **keywords)
        return _with_originals(result, tensors)

    return kernel


def _refusing(message: str) -> Kernel:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(message)

    return kernel


def _unknown(name: str) -> Kernel:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        raise limit(f"{NAMESPACE}::{name} is not simulated")

    return kernel


def kernels() -> dict[str, Kernel]:
    """Name (without namespace) to kernel, for all that a CUDA tensor would reach."""
    found: dict[str, Kernel] = {}
    for full in torch._C._dispatch_get_registrations_for_dispatch_key("CUDA"):
        namespace, _, name = full.partition("::")
        if namespace != NAMESPACE:
            continue
        operator = getattr(torch.ops.c10d, name, None)
        if name in _REFUSED:
            found[name] = _refusing(_REFUSED[name])
        elif name in _WORKING and operator is not None:
            found[name] = _on_the_host(name, operator.default)
        else:
            found[name] = _unknown(name)
    return found
