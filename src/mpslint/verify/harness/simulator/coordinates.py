"""Sparse tensors in coordinate form (COO): two dense tensors, indices and values, of one device.

Most of what torch does with one is the same code for each device and works on the two dense tensors
through the dispatcher: the CPU's kernel, called for a tensor of the device, is that code. What
reads the elements is computed on the host, over the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .kernel import Conversion, Details, Kernel, Plan, results
from .making import counted
from .retag import SPARSE_KEYS, coordinates_on_device
from .state import SIM, limit
from .sync_debug import wait

Tensor = torch.Tensor
_aten = torch.ops.aten
_FIRST_ON_MPS = (2, 9)

_ANY_DEVICE = {
    "_indices", "_values", "indices", "values", "_nnz", "sparse_dim", "dense_dim", "_dimI", "_dimV",
    "is_coalesced", "_coalesced_", "_sparse_coo_tensor_with_dims",
    "_sparse_coo_tensor_with_dims_and_tensors", "empty.memory_format", "empty_like", "copy_",
    "copy_sparse_to_sparse_", "clone", "_to_dense", "zero_", "sparse_resize_",
    "sparse_resize_and_clear_", "resize_as_sparse_",
}  # fmt: skip


def are_there() -> bool:
    """Whether the simulated release has them on the device."""
    return not SIM.is_mps or SIM.version >= _FIRST_ON_MPS


def kernel_for(operator: Any, name: str, checked: bool) -> Kernel:
    """The kernel of an operator for sparse tensors of the device."""
    if name in _ANY_DEVICE:
        return _as_it_is(operator)
    return counted(_on_the_host(operator, name, checked))


def _as_it_is(operator: Any) -> Kernel:
    redispatch: Callable[..., Any] = operator._handle.redispatch_boxed

    def kernel(*args: Any, **kwargs: Any) -> Any:
        return redispatch(SPARSE_KEYS, *args, **kwargs)

    return kernel


def _on_the_host(operator: Any, name: str, checked: bool) -> Kernel:
    plan = Plan(operator, name, Details(_APPENDING.get(name), checked=checked))

    def kernel(*args: Any, **kwargs: Any) -> Any:
        if plan.out_names:
            raise limit(f"aten::{name} of sparse tensors into a given result is not simulated")
        conversion = Conversion(plan)
        host_args, host_kwargs = conversion.positional(args), conversion.keyword(kwargs)
        if SIM.is_mps and conversion.bad is not None:
            raise limit(f"aten::{name} of sparse tensors of two devices is not simulated")
        conversion.check(args)
        if name in _WAITING and not SIM.is_mps:
            wait(_WAITING[name])
        value = plan.host_operator(*host_args, **host_kwargs)
        if plan.written is not None:
            _put_back(args[plan.written], value)
        return results(plan, value, args, kwargs)

    return kernel


def _put_back(target: Tensor, host: Tensor) -> None:
    """A dense result is in the target's bytes already; a sparse one has new indices and values."""
    if target.layout is torch.sparse_coo:
        copy = _aten.copy_sparse_to_sparse_.default
        copy.redispatch(SPARSE_KEYS, target, coordinates_on_device(host), False)


def _sum(one: Tensor, other: Any, alpha: float = 1) -> Tensor:
    """Of two sparse tensors a device appends the one's elements to the other's."""
    both = isinstance(other, torch.Tensor) and one.is_sparse and other.is_sparse
    if not both or one.shape != other.shape:
        plain: Tensor = _aten.add.Tensor(one, other, alpha=alpha)
        return plain
    values = torch.cat([one._values(), other._values() * alpha])
    indices = torch.cat([one._indices(), other._indices()], 1)
    added = torch.sparse_coo_tensor(indices, values, one.shape, is_coalesced=False)
    return added.coalesce() if added._nnz() > added.numel() else added


def _sum_in_place(one: Tensor, other: Tensor, alpha: float = 1) -> Tensor:
    return _sum(one, other, alpha) if one.is_sparse else one.add_(other, alpha=alpha)


def _difference(one: Tensor, other: Tensor, alpha: float = 1) -> Tensor:
    return _sum(one, other, -alpha)


def _difference_in_place(one: Tensor, other: Tensor, alpha: float = 1) -> Tensor:
    return _sum_in_place(one, other, -alpha)


_APPENDING: dict[str, Callable[..., Tensor]] = {
    "add.Tensor": _sum,
    "add_.Tensor": _sum_in_place,
    "sub.Tensor": _difference,
    "sub_.Tensor": _difference_in_place,
}
# As measured on an NVIDIA H200.
_WAITING = {"index_select": "result size depends on the data"}
