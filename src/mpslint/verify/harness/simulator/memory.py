"""Bytes held by simulated device tensors, now and at most."""

from __future__ import annotations

import threading
from typing import Any

import torch

_expired: Any = torch.UntypedStorage._expired
_release: Any = torch.UntypedStorage._free_weak_ref
# Rows of freed storages are kept for this many allocations at least.
_ROWS = 4096


class Tracker:
    """Follows storages by weak references.

    Freed storages are noticed lazily: only when the apparent sum would pass the peak are the dead
    ones swept out. So the peak is exact and an allocation costs little.
    """

    def __init__(self) -> None:
        self.allocated = 0
        self.peak = 0
        self._live: list[tuple[int, int]] = []
        self._lock = threading.Lock()
        self._sweep_at = _ROWS

    def add(self, tensor: torch.Tensor) -> None:
        """Count the storage of a new device tensor."""
        storage = tensor.untyped_storage()
        size = storage.nbytes()
        reference: Any = storage._weak_ref()  # an address; the stub says otherwise
        self._live.append((reference, size))
        self.allocated += size
        if self.allocated > self.peak or len(self._live) > self._sweep_at:
            self.sweep()
            if self.allocated > self.peak:
                self.peak = self.allocated

    def sweep(self) -> None:
        """Drop storages that were freed."""
        with self._lock:
            before, self._live = self._live, []
            kept: list[tuple[int, int]] = []
            total = 0
            for row in before:
                if _expired(row[0]):
                    _release(row[0])
                else:
                    kept.append(row)
                    total += row[1]
            # Another thread may have added rows meanwhile.
            added = self._live
            self._live = kept + added
            self._sweep_at = 2 * len(self._live) + _ROWS
            self.allocated = total + sum(size for _, size in added)

    def current(self) -> int:
        """Bytes held now."""
        self.sweep()
        return self.allocated

    def reset_peak(self) -> None:
        """Forget the peak so far."""
        self.peak = self.current()


TRACKER = Tracker()
