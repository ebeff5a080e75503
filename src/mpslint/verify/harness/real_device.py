"""``--real``: nothing is simulated; what can be seen from Python is counted.

Kernels of a real device cannot be counted without slowing the program down, so the report counts
what crosses between host and device by the usual methods, and says so in a note.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from .bootstrap import Unavailable
from .frames import user_location
from .recorder import RECORDER

NOTE = "real device: only moves, reads and optimizer steps are counted as device operations"
_READS = ("item", "tolist", "numpy", "__float__", "__int__", "__bool__", "__index__")
_MOVES = ("to", "cpu", "cuda", "mps", "type", "type_as")


def _is_there(device: str) -> bool:
    if device == "mps":
        return bool(torch.backends.mps.is_available())
    return bool(torch.cuda.is_available())


def _direction(source: torch.device, target: torch.device, device: str) -> str | None:
    if source == target:
        return None
    if target.type == device:
        return "d2d" if source.type == device else "h2d"
    return "d2h" if source.type == device else None


def _counting_move(move: Callable[..., Any], device: str) -> Callable[..., Any]:
    @functools.wraps(move)
    def moved(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        result = move(self, *args, **kwargs)
        if not isinstance(result, torch.Tensor):
            return result  # the name of its type
        direction = _direction(self.device, result.device, device)
        if direction is not None:
            place = user_location()
            RECORDER.operation()
            RECORDER.copy(direction, result.nbytes, place)
            RECORDER.call("move", str(result.device))
            if direction == "d2h":
                RECORDER.sync("copy to the host", place=place)
        return result

    return moved


def _counting_read(read: Callable[..., Any], device: str) -> Callable[..., Any]:
    @functools.wraps(read)
    def value(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if self.device.type == device:
            RECORDER.operation()
            RECORDER.sync("read of one number", place=user_location())
        return read(self, *args, **kwargs)

    return value


def install(device: str) -> None:
    """Check that the real device is there, and count; raises Unavailable when it is not."""
    if not _is_there(device):
        raise Unavailable(
            f"this machine has no {device} device that torch {torch.__version__} sees"
        )
    tensor: Any = torch.Tensor
    for names, wrap in ((_MOVES, _counting_move), (_READS, _counting_read)):
        for name in names:
            method = getattr(tensor, name, None)
            if method is not None:
                setattr(tensor, name, wrap(method, device))
    RECORDER.note(NOTE)
