"""Which precisions below float32 a run really computed in: by autocast, and with a GradScaler.

A text that names one need not use it: `autocast(device.type, enabled=device.type == "cuda")`.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from .recorder import RECORDER


def install() -> None:
    """Note the type of each autocast that is entered and on."""
    kind: Any = torch.amp.autocast_mode.autocast
    enter = kind.__enter__

    @functools.wraps(enter)
    def entered(self: Any) -> Any:
        if self._enabled:
            RECORDER.lowered.add(str(self.fast_dtype).removeprefix("torch."))
        return enter(self)

    kind.__enter__ = entered
