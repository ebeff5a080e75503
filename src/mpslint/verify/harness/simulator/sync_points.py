"""Operators that make the host wait although they return tensors.

Counts on CUDA were measured with ``set_sync_debug_mode("warn")`` on an NVIDIA H200.
"""

from __future__ import annotations

from typing import Dict, Tuple

SyncPoint = Tuple[str, int]

_SHAPE = "result size depends on the data"

_COMMON: Dict[str, SyncPoint] = {
    "nonzero": (_SHAPE, 1),
    "masked_select": (_SHAPE, 1),
    "_unique2": (_SHAPE, 1),
    "unique_dim": (_SHAPE, 1),
    "unique_consecutive": (_SHAPE, 1),
    "equal": ("torch.equal compares on the host", 1),
}
_CUDA: Dict[str, SyncPoint] = {
    "bincount": (_SHAPE, 2),
    "histc": ("reads the range", 2),
    "repeat_interleave.Tensor": (_SHAPE, 1),
    "_linalg_svd": ("solver status", 1),
}


def table(device: str) -> Dict[str, SyncPoint]:
    """Operator name to (reason, number of waits)."""
    return dict(_COMMON) if device == "mps" else {**_COMMON, **_CUDA}
