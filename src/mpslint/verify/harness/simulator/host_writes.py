"""Operators of the device that would write to a CPU tensor: refused, but for one kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from ..recorder import RECORDER
from . import contract
from .retag import to_host
from .state import SIM
from .sync_debug import wait

if TYPE_CHECKING:
    from .kernel import Plan

Tensor = torch.Tensor


def _on_device(value: Any) -> bool:
    return isinstance(value, Tensor) and value.device.type == SIM.name


def refuse_writing_to_the_host(plan: Plan, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """A CPU scalar may be read beside tensors of the device; the result is not written to it."""
    if plan.written is None:
        return
    target = plan.argument(plan.written, args, kwargs)
    if isinstance(target, Tensor) and target.is_cpu:
        raise contract.two_devices()


def write_on_the_host(plan: Plan, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """``cpu[index] = value``: indices are moved to where the tensor is, and so is one number."""
    owner, indices, values, *rest = args
    if _on_device(values) and values.dim():
        raise contract.two_devices()
    for value in (*indices, values):
        if _on_device(value):
            RECORDER.copy("d2h", value.nbytes)
            wait("copy to the host")
    host_indices = [to_host(index) if _on_device(index) else index for index in indices]
    host_values = to_host(values) if _on_device(values) else values
    result = plan.host_operator(owner, host_indices, host_values, *rest, **kwargs)
    return result if plan.written is None else owner
