"""Copies from MPS to the host that nobody waited for: what they bring is there after the next wait.

A Mac's GPU writes them while the program goes on, which reads what was in the memory before. CUDA
does so only where the host's memory is pinned; from there it is not simulated.
"""

from __future__ import annotations

import threading

import torch

_aten = torch.ops.aten
_pending: list[tuple[torch.Tensor, torch.Tensor]] = []
_lock = threading.Lock()


def begin(target: torch.Tensor, values: torch.Tensor) -> None:
    """Nothing in ``target`` is what was copied, until ``end``."""
    garbage = float("nan") if target.is_floating_point() or target.is_complex() else 0
    with _lock:
        _pending.append((target, values.clone()))
        _aten.fill_.Scalar(target, garbage)


def end() -> None:
    """The host waited for the device."""
    if not _pending:
        return
    with _lock:
        arrived = _pending[:]
        _pending.clear()
    for target, values in arrived:
        _aten.copy_.default(target, values)
