"""Storages of the simulated device, as torch.load and legacy code make them."""

from __future__ import annotations

from typing import Any

import torch

from .retag import to_device
from .state import SIM, limit


def install() -> None:
    """Teach ``torch.UntypedStorage`` the simulated device."""
    storage: Any = torch.UntypedStorage
    make, resize = storage.__new__, storage.resize_

    def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
        device = kwargs.get("device")
        if device is None or torch.device(device).type != SIM.name:
            return make(cls, *args, **kwargs)
        content = args[0] if args else 0
        if isinstance(content, int):
            made = torch.empty(content, dtype=torch.uint8, device="cpu")
        else:
            made = torch.tensor(list(content), dtype=torch.uint8, device="cpu")
        return to_device(made).untyped_storage()

    def resized(self: Any, size: int) -> Any:
        if self.device.type == SIM.name and size != self.nbytes():
            raise limit("UntypedStorage.resize_ is not simulated")
        return resize(self, size)

    def share(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise limit("sharing device tensors between processes (CUDA IPC) is not simulated")

    storage.__new__ = staticmethod(new)
    storage.resize_ = resized
    if SIM.name == "cuda":
        storage._share_cuda_ = share
