"""What ``torch.accelerator`` asks of the C++ layer."""

from __future__ import annotations

from typing import Any

import torch

from .memory import TRACKER
from .sync_debug import wait

TOTAL_MEMORY = 16 << 30


def _statistics() -> dict[str, Any]:
    now, peak = TRACKER.current(), TRACKER.peak
    row = {"current": now, "peak": peak, "allocated": peak, "freed": peak - now}
    return {"all": dict(row)}


def device_statistics(index: int = 0) -> dict[str, Any]:
    """The nested dictionary that ``torch.accelerator.memory_stats`` flattens."""
    names = ("allocated_bytes", "reserved_bytes", "active_bytes", "requested_bytes")
    return {name: _statistics() for name in names}


def synchronize(index: int | None = None) -> None:
    """torch.accelerator.synchronize"""
    wait("torch.accelerator.synchronize")


def memory_info(index: int = 0) -> Any:
    """(free, total) in bytes"""
    return TOTAL_MEMORY - TRACKER.current(), TOTAL_MEMORY


def install() -> None:
    """Provide the ``torch._C._accelerator_*`` functions that need a device."""
    names: dict[str, Any] = {
        "_accelerator_synchronizeDevice": synchronize,
        "_accelerator_emptyCache": lambda: None,
        "_accelerator_emptyHostCache": lambda: None,
        "_accelerator_isAllocatorInitialized": lambda: True,
        "_accelerator_getDeviceStats": device_statistics,
        "_accelerator_resetAccumulatedStats": lambda index: None,
        "_accelerator_resetPeakStats": lambda index: TRACKER.reset_peak(),
        "_accelerator_getMemoryInfo": memory_info,
        "_accelerator_setDeviceIndex": lambda index: None,
        "_accelerator_getDeviceIndex": lambda: 0,
    }
    for name, function in names.items():
        setattr(torch._C, name, function)
