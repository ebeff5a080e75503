"""``--device cpu``: this machine has no accelerator, whatever is in it."""

from __future__ import annotations

from typing import Any

import torch


def _answers() -> dict[str, dict[str, Any]]:
    return {
        "cuda": {"is_available": lambda: False, "device_count": lambda: 0},
        "xpu": {"is_available": lambda: False, "device_count": lambda: 0},
        "mps": {"is_available": lambda: False, "device_count": lambda: 0},
        "accelerator": {
            "is_available": lambda: False,
            "device_count": lambda: 0,
            "current_accelerator": lambda check_available=False: None,
        },
    }


def install() -> None:
    """Hide CUDA and MPS; a CPU build of torch has nothing to hide."""
    if not (torch.cuda.is_available() or torch.backends.mps.is_available()):
        return
    for module_name, names in _answers().items():
        module = getattr(torch, module_name, None)
        for name, answer in names.items():
            if hasattr(module, name):
                setattr(module, name, answer)
    torch.backends.mps.is_available = lambda: False  # type: ignore[assignment]
