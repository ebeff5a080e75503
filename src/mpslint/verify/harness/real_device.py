"""``--real``: nothing is simulated; what can be seen from Python is counted."""

from __future__ import annotations

import torch

from .bootstrap import Unavailable


def _is_there(device: str) -> bool:
    if device == "mps":
        return bool(torch.backends.mps.is_available())
    return bool(torch.cuda.is_available())


def install(device: str) -> None:
    """Check that the real device is there; raises Unavailable when it is not."""
    if not _is_there(device):
        raise Unavailable(
            f"this machine has no {device} device that torch {torch.__version__} sees"
        )
