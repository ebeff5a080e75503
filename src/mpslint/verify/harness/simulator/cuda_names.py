"""What ``torch.cuda`` asks of the C++ layer.

The Python code of ``torch.cuda`` runs unchanged; a CPU build lacks only the ``torch._C._cuda_*``
functions below it. Where torch replaced a class by a dummy at import time, ours takes its place.
"""

from __future__ import annotations

import abc
import os
import sys
import types
from typing import Any

import torch

from ..recorder import RECORDER
from . import cuda_streams, legacy_types, sync_debug
from .accelerator_names import TOTAL_MEMORY, device_statistics
from .contract import invalid_ordinal
from .generator import default_generator
from .memory import TRACKER
from .state import SIM, limit

CAPABILITY = (8, 0)
CUDA_VERSION = "12.6"
COMPILED_VERSION = 12060
CUDNN_VERSION = 90100
_VISIBLE = "CUDA_VISIBLE_DEVICES"


class DeviceProperties:
    """A GPU of compute capability 8.0 with 16 GiB, computed on the CPU."""

    name = "CUDA device (simulated on the CPU)"
    major, minor = CAPABILITY
    total_memory = TOTAL_MEMORY
    multi_processor_count = 108
    is_integrated = 0
    is_multi_gpu_board = 0
    warp_size = 32
    max_threads_per_multi_processor = 2048
    max_threads_per_block = 1024
    regs_per_multiprocessor = 65536
    shared_memory_per_block = 49152
    shared_memory_per_block_optin = 166912
    shared_memory_per_multiprocessor = 167936
    L2_cache_size = 40 << 20
    clock_rate = 1410000
    memory_clock_rate = 1215000
    memory_bus_width = 5120
    gcnArchName = ""
    uuid = "00000000-0000-0000-0000-000000000000"
    pci_bus_id = pci_device_id = pci_domain_id = 0

    def __repr__(self) -> str:
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory >> 20}MB, "
            f"multi_processor_count={self.multi_processor_count})"
        )


def _device_count() -> int:
    """Only a script that hides the GPUs itself has hidden this one."""
    if not RECORDER.self_test["passed"]:
        return 1  # the self-test tries the device, whatever the script thinks of it
    now = os.environ.get(_VISIBLE)
    hidden = now is not None and now != RECORDER.visible_devices and now.strip() in ("", "-1")
    return 0 if hidden else 1


def _require(index: int) -> None:
    if index not in (0, -1):
        raise invalid_ordinal()


def _exchange(index: int) -> int:
    _require(index)
    return 0 if index >= 0 else -1


class _Runtime(types.SimpleNamespace):
    """Stands in for the cudart bindings."""

    class cudaError:
        success = 0

    def cudaMemGetInfo(self, device: int) -> tuple[int, int]:
        return TOTAL_MEMORY - TRACKER.current(), TOTAL_MEMORY

    def cudaGetErrorString(self, code: int) -> str:
        return "no error"

    def cudaProfilerStart(self) -> int:
        return 0

    def cudaProfilerStop(self) -> int:
        return 0


def _reset_peak(index: int = 0) -> None:
    TRACKER.reset_peak()


def _no_graphs(*args: Any, **kwargs: Any) -> Any:
    raise limit("CUDA graphs are not simulated")


class _NoGraph:
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _no_graphs()


def _to_only_device(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    return [tensor.to(SIM.device) for tensor in tensors]


def _c_functions() -> dict[str, Any]:
    return {
        "_has_cuda": True,
        "_CudaDeviceProperties": DeviceProperties,
        "_cuda_getDeviceCount": _device_count,
        "_cuda_init": lambda: None,
        "_cuda_getCompiledVersion": lambda: COMPILED_VERSION,
        "_cuda_getDevice": lambda: 0,
        "_cuda_setDevice": _require,
        "_cuda_exchangeDevice": _exchange,
        "_cuda_maybeExchangeDevice": _exchange,
        "_cuda_getArchFlags": lambda: "sm_80",
        "_cuda_canDeviceAccessPeer": lambda first, second: False,
        "_cuda_synchronize": lambda: wait_without_warning("torch.cuda.synchronize"),
        "_cuda_ipc_collect": lambda: None,
        "_cuda_sleep": lambda cycles: None,
        "_cuda_getCurrentStream": cuda_streams.current,
        "_cuda_getDefaultStream": cuda_streams.default,
        "_cuda_setStream": cuda_streams.select,
        "_cuda_getCurrentRawStream": lambda index: 0,
        "_cuda_isCurrentStreamCapturing": lambda: False,
        "_cuda_set_sync_debug_mode": sync_debug.set_mode,
        "_cuda_get_sync_debug_mode": sync_debug.get_mode,
        "_cuda_emptyCache": lambda *args: None,
        "_cuda_memoryStats": device_statistics,
        "_cuda_resetAccumulatedMemoryStats": lambda index: None,
        "_cuda_resetPeakMemoryStats": _reset_peak,
        "_cuda_setMemoryFraction": lambda fraction, index: None,
        "_cuda_getMemoryFraction": lambda index: 1.0,
        "_cuda_memorySnapshot": lambda *args: {"segments": [], "device_traces": []},
        "_cuda_hostMemoryStats": lambda *args: {},
        "_cuda_getAllocatorBackend": lambda: "native",
        "_cuda_record_memory_history": lambda *args, **kwargs: None,
        "_cuda_get_cudnn_benchmark_limit": lambda: 10,
        "_cuda_set_cudnn_benchmark_limit": lambda value: None,
        "_scatter": lambda tensor, *args, **kwargs: _to_only_device([tensor]),
        "_broadcast_coalesced": lambda tensors, *args: [_to_only_device(tensors)],
        "_gather": lambda tensors, dim, *args: torch.cat(list(tensors), dim),
    }


def wait_without_warning(name: str) -> None:
    """An explicit wait; sync debug mode is about hidden ones."""
    RECORDER.sync(name)


def _python_names() -> dict[str, Any]:
    return {
        "_cudart": _Runtime(),
        "default_generators": (default_generator(),),
        "_CudaDeviceProperties": DeviceProperties,
        "_get_device_properties": lambda index: DeviceProperties(),
        "_exchange_device": _exchange,
        "_maybe_exchange_device": _exchange,
        "_device_count_nvml": lambda: -1,
        "_is_in_bad_fork": lambda: SIM.in_forked_child,
        "Stream": cuda_streams.Stream,
        "ExternalStream": cuda_streams.Stream,
        "Event": cuda_streams.Event,
        "CUDAGraph": _NoGraph,
        "graph": _NoGraph,
        "make_graphed_callables": _no_graphs,
        "utilization": lambda device=None: 0,
    }


def _python_half() -> list[types.ModuleType]:
    """torch.cuda and its submodules, as far as they are loaded."""
    return [
        module
        for name, module in list(sys.modules.items())
        if name == "torch.cuda" or name.startswith("torch.cuda.")
    ]


def _be_of_torchs_kind() -> None:
    """Before torch 2.6 its tracing compiler, and with it an optimizer, asks for that."""
    kinds = sys.modules.get("torch._streambase")
    for name, ours in (("_StreamBase", cuda_streams.Stream), ("_EventBase", cuda_streams.Event)):
        kind = getattr(kinds, name, None)
        if isinstance(kind, abc.ABCMeta):
            kind.register(ours)


def _after_fork() -> None:
    SIM.in_forked_child = bool(getattr(torch.cuda, "_initialized", False))


def install() -> None:
    """Make ``torch.cuda`` work with one device."""
    for name, value in _c_functions().items():
        setattr(torch._C, name, value)
        for module in _python_half():
            if hasattr(module, name):  # taken from torch._C by name when torch was imported
                setattr(module, name, value)
    cuda: Any = torch.cuda
    tensor: Any = torch.Tensor
    tensor.record_stream = lambda self, stream: None
    for name, value in _python_names().items():
        setattr(cuda, name, value)
    cuda.streams.Stream, cuda.streams.Event = cuda_streams.Stream, cuda_streams.Event
    _be_of_torchs_kind()
    cuda.memory._get_device_properties = cuda._get_device_properties
    cuda.nvtx.range_push = lambda message: 0
    cuda.nvtx.range_pop = lambda: 0
    cuda.nvtx.mark = lambda message: None
    torch.version.cuda = CUDA_VERSION
    backends: Any = torch.backends
    backends.cudnn.is_available = lambda: True
    backends.cudnn.version = lambda: CUDNN_VERSION
    backends.cuda.is_built = lambda: True
    legacy_types.install()
    os.register_at_fork(after_in_child=_after_fork)
