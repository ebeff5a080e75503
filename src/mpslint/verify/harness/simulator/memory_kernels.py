"""Kernels that make, resize, copy and read tensors of the simulated device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..frames import user_location
from ..recorder import RECORDER
from . import contract, late_copies
from .kernel import move_into
from .retag import CPU_KEYS, expect_complex, to_device, to_host
from .state import SIM
from .sync_debug import wait

Tensor = torch.Tensor
Sizes = Sequence[int]

_aten = torch.ops.aten
_cpu = torch.device("cpu")


def empty(
    size: Sizes,
    dtype: torch.dtype | None = None,
    layout: Any = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
    memory_format: Any = None,
) -> Tensor:
    """aten::empty.memory_format"""
    contract.refuse_dimensions(len(size))
    contract.refuse_device(device)
    made = _aten.empty.memory_format(size, dtype=dtype, device=_cpu, memory_format=memory_format)
    return to_device(made)


def empty_strided(
    size: Sizes,
    stride: Sizes,
    dtype: torch.dtype | None = None,
    layout: Any = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    """aten::empty_strided"""
    contract.refuse_dimensions(len(size))
    contract.refuse_device(device)
    return to_device(_aten.empty_strided.default(size, stride, dtype=dtype, device=_cpu))


def _contiguous_strides(size: Sizes) -> list[int]:
    strides: list[int] = []
    step = 1
    for length in reversed(size):
        strides.append(step)
        step *= max(length, 1)
    return strides[::-1]


def resize(self: Tensor, size: Sizes, memory_format: Any = None) -> Tensor:
    """aten::resize_ : keeps the storage when it is large enough"""
    preserve = memory_format in (None, torch.preserve_format)
    if tuple(size) == tuple(self.shape) and preserve:
        return self
    count = 1
    for length in size:
        count *= length
    storage = self.untyped_storage()
    room = storage.nbytes() // self.element_size() - self.storage_offset()
    if count <= room and (preserve or memory_format == torch.contiguous_format):
        _aten.set_.source_Storage_storage_offset.redispatch(
            CPU_KEYS, self, storage, self.storage_offset(), list(size), _contiguous_strides(size)
        )
        return self
    options = {} if preserve else {"memory_format": memory_format}
    grown = torch.empty(size, dtype=self.dtype, device=_cpu, **options)
    kept = min(self.numel(), count)
    if kept and self.is_contiguous():
        grown.view(-1)[:kept].copy_(to_host(self).reshape(-1)[:kept])
    move_into(self, to_device(grown))
    return self


def _to_simulated(self: Tensor, source: Tensor, non_blocking: bool) -> None:
    host = to_host(self)
    if source.device.type == SIM.name:
        if RECORDER.trace:
            RECORDER.copy("d2d", self.nbytes, user_location())
        incoming = host if source is self else to_host(source)
    else:
        place = user_location()
        RECORDER.copy("h2d", self.nbytes, place)
        RECORDER.call("move", str(SIM.device))
        if SIM.name == "cuda" and not non_blocking:
            wait("copy to the device")
        incoming = source
    if host.numel() == 0 and SIM.is_mps and incoming.numel() != 0:
        resize(self, incoming.shape)
        host = to_host(self)
    _aten.copy_.default(host, incoming)


def _to_cpu(self: Tensor, source: Tensor, non_blocking: bool) -> None:
    if SIM.is_mps and self.dtype == torch.float64 and source.dtype != torch.float64:
        # A cast happens on the device first; 2.14 gives zeros instead (pytorch#197715).
        contract.refuse_dtype(torch.float64)
    RECORDER.copy("d2h", source.nbytes, user_location())
    RECORDER.call("move", "cpu")
    if non_blocking and SIM.is_mps:
        late_copies.begin(self, to_host(source))
        return
    if not (non_blocking and SIM.name == "cuda"):
        wait("copy to the host")
    _aten.copy_.default(self, to_host(source))


def copy(self: Tensor, source: Tensor, non_blocking: bool = False) -> Tensor:
    """aten::copy_ : within the device, to it and from it"""
    RECORDER.operation()
    if self.device.type == SIM.name:
        _to_simulated(self, source, non_blocking)
    else:
        _to_cpu(self, source, non_blocking)
    return self


def local_scalar_dense(self: Tensor) -> Any:
    """aten::_local_scalar_dense : .item() and all that reads one number"""
    RECORDER.operation()
    wait("read of one number")
    return _aten._local_scalar_dense.default(to_host(self))


def _unchanged(operator: Any) -> Callable[..., Any]:
    """View kernels only compute sizes: the CPU's work on any device."""
    redispatch = operator._handle.redispatch_boxed

    def kernel(*args: Any, **kwargs: Any) -> Any:
        return redispatch(CPU_KEYS, *args, **kwargs)

    return kernel


def view_as_complex(self: Tensor) -> Tensor:
    """aten::view_as_complex"""
    expect_complex()
    result: Tensor = _aten.view_as_complex.default.redispatch(CPU_KEYS, self)
    return result


_VIEWS = (
    "as_strided", "view", "_reshape_alias", "unfold", "view_as_real", "permute", "set_",
    "set_.source_Storage", "set_.source_Storage_storage_offset", "set_.source_Tensor",
)  # fmt: skip


def kernels() -> dict[str, Callable[..., Any]]:
    """Name to kernel."""
    table: dict[str, Callable[..., Any]] = {
        "empty.memory_format": empty,
        "empty_strided": empty_strided,
        "copy_": copy,
        "resize_": resize,
        "_local_scalar_dense": local_scalar_dense,
        "view_as_complex": view_as_complex,
    }
    for name in _VIEWS:
        base, _, overload = name.partition(".")
        table[name] = _unchanged(getattr(getattr(_aten, base), overload or "default"))
    return table
