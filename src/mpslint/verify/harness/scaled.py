"""By how much a GradScaler has multiplied a loss: half precision needs it, and no other does, so
that the losses of two devices are compared without it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.utils.weak import WeakIdKeyDictionary

_by: Any = WeakIdKeyDictionary()


def install(host_view: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """Remember what each scaler makes."""
    scaler: Any = getattr(torch.amp, "GradScaler", None)
    if scaler is None:  # torch before 2.3
        return
    scale = scaler.scale

    @functools.wraps(scale)
    def remembered(self: Any, outputs: Any) -> Any:
        result = scale(self, outputs)
        if isinstance(result, torch.Tensor) and result is not outputs:
            _by[result] = float(host_view(self._scale))
        return result

    scaler.scale = remembered


def by(loss: torch.Tensor) -> float:
    """What the loss was multiplied by; 1 where no scaler made it."""
    return float(_by.get(loss, 1.0)) or 1.0
