"""The device calls and device choices that user code makes, in order.

Two programs that make the same calls here treat the device alike, however they spell it:
``x.cuda()`` and ``x.to(device)`` both become ``["move", "cuda:0"]``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

from .frames import called_by_user
from .recorder import RECORDER

# Functions that act on a device. Questions (is_available, device_count ...) choose nothing
# by themselves, and portable code asks more of them.
_ACTIONS = {
    "cuda": [
        "synchronize", "set_device", "empty_cache", "manual_seed", "manual_seed_all", "seed",
        "seed_all", "set_rng_state", "get_rng_state", "set_rng_state_all", "get_rng_state_all",
        "memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved",
        "reset_peak_memory_stats", "reset_max_memory_allocated", "memory_stats", "mem_get_info",
        "memory_summary", "set_per_process_memory_fraction", "ipc_collect", "get_device_name",
        "get_device_properties", "get_device_capability", "current_device", "current_stream",
        "default_stream", "set_stream", "set_sync_debug_mode", "stream",
    ],
    "mps": [
        "synchronize", "empty_cache", "manual_seed", "seed", "set_rng_state", "get_rng_state",
        "current_allocated_memory", "driver_allocated_memory", "recommended_max_memory",
        "set_per_process_memory_fraction",
    ],
    "accelerator": [
        "synchronize", "set_device_index", "empty_cache", "memory_allocated",
        "max_memory_allocated", "memory_reserved", "max_memory_reserved",
        "reset_peak_memory_stats", "memory_stats", "current_stream",
    ],
}  # fmt: skip


def _text(args: Any, kwargs: Any) -> str:
    values: list[str] = [
        str(value) for value in args if isinstance(value, (int, str, torch.device))
    ]
    values += [
        f"{key}={value}"
        for key, value in sorted(kwargs.items())
        if isinstance(value, (int, str, torch.device))
    ]
    return ", ".join(values)


def _recorded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if called_by_user():
            RECORDER.call(name, _text(args, kwargs))
        return function(*args, **kwargs)

    return call


def _watch(module: ModuleType, prefix: str, names: list[str]) -> None:
    for name in names:
        function = getattr(module, name, None)
        if isinstance(function, type):
            continue
        if callable(function):
            setattr(module, name, _recorded(f"{prefix}.{name}", function))


def install(device: str) -> None:
    """Record the calls that user code itself makes (not those that torch makes inside)."""
    for name, actions in _ACTIONS.items():
        module = getattr(torch, name, None)
        if isinstance(module, ModuleType):
            _watch(module, f"torch.{name}", actions)
