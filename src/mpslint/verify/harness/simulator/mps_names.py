"""What ``torch.mps`` and ``torch.backends.mps`` ask of the C++ layer."""

from __future__ import annotations

import platform
import time
from typing import Any

import torch

from ..recorder import RECORDER
from .generator import default_generator
from .memory import TRACKER
from .state import limit
from .sync_debug import wait

MACOS = (15, 0)
RECOMMENDED_MEMORY = 11_453_251_584
MAX_BUFFER = 8_589_934_592


class _Events:
    """Events by number; the value is when they were recorded."""

    def __init__(self) -> None:
        self.times: dict[int, float | None] = {}
        self.last = 0

    def acquire(self, timing: bool = False) -> int:
        self.last += 1
        self.times[self.last] = None
        return self.last

    def release(self, event: int) -> None:
        self.times.pop(event, None)

    def record(self, event: int) -> None:
        self.times[event] = time.perf_counter()

    def elapsed(self, start: int, end: int) -> float:
        first, second = self.times[start], self.times[end]
        if first is None or second is None:
            raise RuntimeError("Events were not recorded")
        return (second - first) * 1e3


def _no_shader(*args: Any, **kwargs: Any) -> Any:
    raise limit("Metal shaders cannot run on this machine")


def _profile(*args: Any) -> None:
    RECORDER.note("torch.mps.profiler recorded nothing")


def _functions() -> dict[str, Any]:
    events = _Events()
    return {
        "_has_mps": True,
        "_mps_is_available": lambda: True,
        "_mps_is_on_macos_or_newer": lambda major, minor: (major, minor) <= MACOS,
        "_mps_get_name": lambda: "Apple M-series (simulated on the CPU)",
        "_mps_get_core_count": lambda: 10,
        "_mps_deviceSynchronize": lambda: wait("torch.mps.synchronize"),
        "_mps_emptyCache": lambda: None,
        "_mps_setMemoryFraction": lambda fraction: None,
        "_mps_currentAllocatedMemory": TRACKER.current,
        "_mps_driverAllocatedMemory": TRACKER.current,
        "_mps_recommendedMaxMemory": lambda: RECOMMENDED_MEMORY,
        "_mps_maxBufferLength": lambda: MAX_BUFFER,
        "_mps_get_default_generator": default_generator,
        "_mps_profilerStartTrace": _profile,
        "_mps_profilerStopTrace": lambda: None,
        "_mps_isCaptureEnabled": lambda: False,
        "_mps_isCapturing": lambda: False,
        "_mps_acquireEvent": events.acquire,
        "_mps_releaseEvent": events.release,
        "_mps_recordEvent": events.record,
        "_mps_waitForEvent": lambda event: None,
        "_mps_synchronizeEvent": lambda event: wait("torch.mps.Event.synchronize"),
        "_mps_queryEvent": lambda event: True,
        "_mps_elapsedTimeOfEvents": events.elapsed,
        "_mps_compileShader": _no_shader,
        "_mps_loadMetalllib": _no_shader,
        "_mps_loadMetallibFromPath": _no_shader,
    }


def install() -> None:
    """Make ``torch.mps`` work, and the machine look like a Mac with Apple silicon."""
    for name, value in _functions().items():
        setattr(torch._C, name, value)
    backend = torch.backends.mps
    for name in ("is_available", "is_macos_or_newer", "is_macos13_or_newer", "get_name",
                 "get_core_count"):  # fmt: skip
        clear = getattr(getattr(backend, name, None), "cache_clear", None)
        if clear is not None:
            clear()
    torch.mps.compile_shader = _no_shader
    if hasattr(torch.mps, "load_metallib"):
        torch.mps.load_metallib = _no_shader
    # Libraries decide by the processor's name whether this is Apple silicon.
    platform.processor = lambda: "arm"
    platform.machine = lambda: "arm64"
