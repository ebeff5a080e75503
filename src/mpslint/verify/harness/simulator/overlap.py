"""Arguments of one call that share memory on the device share a storage on the host as well.

Each CPU view has a storage of its own, in which torch's checks for overlapping memory cannot see
that one argument writes to what another one reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from .retag import CPU_KEYS, to_host
from .state import SIM

Tensor = torch.Tensor

_set = torch.ops.aten.set_.source_Storage_storage_offset


def is_alias(one: Tensor, two: Tensor) -> bool:
    """Whether two tensors, not the same object, have one storage."""
    return one is not two and one.untyped_storage()._cdata == two.untyped_storage()._cdata


def _whole_on_the_host(tensor: Tensor) -> Tensor:
    """All bytes of a device tensor's storage, as one CPU tensor."""
    storage = tensor.untyped_storage()
    whole = torch.empty(0, dtype=torch.uint8, device=SIM.name)
    _set.redispatch(CPU_KEYS, whole, storage, 0, [storage.nbytes()], [1])
    return to_host(whole)


def _within(whole: Tensor, tensor: Tensor) -> Tensor:
    view = torch.empty(0, dtype=tensor.dtype)
    return view.set_(
        whole.untyped_storage(), tensor.storage_offset(), tensor.shape, tensor.stride()
    )


def with_shared_storage(written: int, args: Sequence[Any], host_args: Sequence[Any]) -> list[Any]:
    """The CPU arguments, in which those that alias argument ``written`` can be seen to do so."""
    target = args[written] if written < len(args) else None
    shared = list(host_args)
    if not isinstance(target, Tensor) or target.device.type != SIM.name:
        return shared
    aliases = [
        index
        for index, value in enumerate(args)
        if isinstance(value, Tensor) and value.device.type == SIM.name and is_alias(target, value)
    ]
    if not aliases or target.is_conj() or target.is_neg():
        return shared
    whole = _whole_on_the_host(target)
    for index in (written, *aliases):
        if not (args[index].is_conj() or args[index].is_neg()):
            shared[index] = _within(whole, args[index])
    return shared
