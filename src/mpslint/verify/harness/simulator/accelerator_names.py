"""What ``torch.accelerator`` asks of the C++ layer."""

from __future__ import annotations

from typing import Any

import torch

from .memory import TRACKER
from .sync_debug import wait

TOTAL_MEMORY = 16 << 30


_BYTES = ("allocated_bytes", "reserved_bytes", "active_bytes", "requested_bytes")
_NOT_FOLLOWED = ("inactive_split_bytes", "allocation", "segment", "active", "inactive_split")


def _row(now: int, peak: int) -> dict[str, int]:
    return {"current": now, "peak": peak, "allocated": peak, "freed": peak - now}


def device_statistics(index: int = 0) -> dict[str, Any]:
    """The nested dictionary that ``memory_stats`` flattens; there is one pool, and no splitting."""
    now, peak = TRACKER.current(), TRACKER.peak
    nothing = {pool: _row(0, 0) for pool in ("all", "small_pool", "large_pool")}
    followed = {**nothing, "all": _row(now, peak), "large_pool": _row(now, peak)}
    statistics: dict[str, Any] = dict.fromkeys(_BYTES, followed)
    statistics.update(dict.fromkeys(_NOT_FOLLOWED, nothing))
    statistics.update({"oversize_allocations": _row(0, 0), "oversize_segments": _row(0, 0)})
    statistics.update({"num_alloc_retries": 0, "num_ooms": 0, "num_sync_all_streams": 0})
    return statistics


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
