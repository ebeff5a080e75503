"""Operators that make the host wait although they return tensors.

Counts on CUDA were measured with ``set_sync_debug_mode("warn")`` on an NVIDIA H200.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from .state import SIM
from .sync_debug import wait

SyncPoint = tuple[str, int]

_SHAPE = "result size depends on the data"

_COMMON: dict[str, SyncPoint] = {
    "nonzero": (_SHAPE, 1),
    "masked_select": (_SHAPE, 1),
    "_unique2": (_SHAPE, 1),
    "unique_dim": (_SHAPE, 1),
    "unique_consecutive": (_SHAPE, 1),
}
_CUDA: dict[str, SyncPoint] = {
    "bincount": (_SHAPE, 2),
    "histc": ("reads the range", 2),
    "repeat_interleave.Tensor": (_SHAPE, 2),
    "_to_sparse": (_SHAPE, 1),
    "_to_sparse.sparse_dim": (_SHAPE, 1),
    "_linalg_svd": ("solver status", 2),
    "_linalg_eigh": ("solver status", 1),
    "_ctc_loss": ("lengths are copied to the device", 3),
    "_ctc_loss.Tensor": ("lengths are copied to the device", 3),
}


def table(device: str) -> dict[str, SyncPoint]:
    """Operator name to (reason, number of waits)."""
    return dict(_COMMON) if device == "mps" else {**_COMMON, **_CUDA}


def equal(args: Sequence[Any]) -> None:
    """torch.equal reads its answer on the host, unless both are the very same memory."""
    first, second = args[0], args[1]
    same = first.data_ptr() == second.data_ptr() and first.stride() == second.stride()
    if not (same and first.shape == second.shape and first.numel()):
        wait("torch.equal")


def _is_mask(index: Any) -> bool:
    return isinstance(index, torch.Tensor) and index.dtype in (torch.bool, torch.uint8)


def indexing(indices: Sequence[Any], written: Any) -> None:
    """Indexing by a mask counts its true elements first.

    One number from the host is filled in by the mask itself, and copied over for other indices.
    """
    if isinstance(written, torch.Tensor) and written.is_cpu and written.numel() == 1:
        if not any(_is_mask(index) for index in indices) and SIM.name == "cuda":
            wait("copy to the device")
        return
    for index in indices:
        if _is_mask(index):
            wait("indexing by a mask")


RULES: dict[str, Callable[[Sequence[Any]], None]] = {"equal": equal}
