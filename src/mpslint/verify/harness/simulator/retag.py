"""Two views of the same bytes: a CPU tensor and a tensor of the simulated device.

A DLPack capsule of a tensor states its device type in one integer. With that integer rewritten,
torch imports the same memory as a genuine tensor of the other device: right dispatch keys, right
``.device``, storage shared, the original kept alive by the capsule's deleter.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import torch

from ..recorder import RECORDER
from . import contract
from .memory import TRACKER
from .state import SIM, limit

Tensor = torch.Tensor

_export = torch._C._to_dlpack
_import = torch._C._from_dlpack
# A capsule is an object header and then the pointer. Reading it there takes half the time of
# PyCapsule_GetPointer; check_capsule_layout compares the two before anything relies on it.
_CAPSULE_POINTER = object.__basicsize__


class _Slots:
    """Pointers that can be turned to another place.

    `id` and `from_address` are events of Python's, each of which calls the tripwire: with three of
    them for each argument they took half the time of a run. What is in here is no event.
    """

    __slots__ = ("capsule", "header", "header_at", "tensor", "tensor_at", "where")

    def __init__(self) -> None:
        self.capsule: ctypes.py_object[Any] = ctypes.py_object()
        self.where = ctypes.c_uint64.from_buffer(self.capsule)
        self.header = ctypes.POINTER(ctypes.c_uint64)()
        self.header_at = ctypes.c_uint64.from_buffer(self.header)
        self.tensor = ctypes.POINTER(ctypes.c_int32)()
        self.tensor_at = ctypes.c_uint64.from_buffer(self.tensor)


# Who takes slots has them alone until they are back: other threads, signals and finalizers may
# come between any two lines of Python.
_free: list[_Slots] = []

# struct DLTensor { void* data; struct { int32_t device_type; int32_t device_id; } device; ... }
_DEVICE_TYPE_OFFSET = 8
_KDL_CPU = 1

_strided = torch.strided
_as_strided = torch.ops.aten.as_strided.default
CPU_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
SPARSE_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.SparseCPU)
_coordinates = torch.sparse_coo
_indices, _values = torch.ops.aten._indices.default, torch.ops.aten._values.default
_from_parts = torch.ops.aten._sparse_coo_tensor_with_dims_and_tensors.default

# dtypes that need a closer look on the way in; all others take the short path
_HALVES = {torch.float16: "float16", torch.bfloat16: "bfloat16"}
_SPECIAL_DTYPES = {torch.complex32, torch.complex64, *_HALVES, *contract.MPS_REFUSED_DTYPES}


# Conj and neg bits exist only once there has been a complex tensor. A list, since names and
# attributes of the harness that change during a run are taken for a script's doing.
_complex_seen: list[bool] = []


def expect_complex() -> None:
    """From now on tensors may carry the conjugate or negative bit."""
    _complex_seen[:] = [True]


def _turned(capsule: Any, slots: _Slots) -> None:
    """Turn the slots to the device type that a capsule states."""
    slots.capsule.value = capsule
    slots.header_at.value = slots.where.value + _CAPSULE_POINTER
    slots.tensor_at.value = slots.header[0] + _DEVICE_TYPE_OFFSET


def check_capsule_layout() -> None:
    """Raise RuntimeError where capsules are laid out in another way."""
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    capsule, slots = _export(torch.zeros(1)), _Slots()
    slots.capsule.value = capsule
    address = ctypes.c_uint64.from_address(id(capsule) + _CAPSULE_POINTER).value
    if slots.where.value != id(capsule) or get_pointer(capsule, b"dltensor") != address:
        raise RuntimeError("capsules of this Python have another layout")
    _turned(capsule, slots)
    if slots.tensor[0] != _KDL_CPU:
        raise RuntimeError("DLPack tensors of this torch have another layout")


def _retag(tensor: Tensor, code: int) -> Tensor:
    capsule = _export(tensor)
    try:
        slots = _free.pop()
    except IndexError:
        slots = _Slots()
    # As in _turned: the call alone would cost as much.
    slots.capsule.value = capsule
    slots.header_at.value = slots.where.value + _CAPSULE_POINTER
    slots.tensor_at.value = slots.header[0] + _DEVICE_TYPE_OFFSET
    slots.tensor[0] = code
    _free.append(slots)
    result: Tensor = _import(capsule)
    return result


def _with_strides_of(source: Tensor, view: Tensor) -> Tensor:
    """DLPack normalises the strides of dimensions of size 0 and 1: put them back."""
    strides = source.stride()
    if view.stride() == strides:
        return view
    restored: Tensor = _as_strided.redispatch(CPU_KEYS, view, view.shape, strides)
    return restored


def to_host(tensor: Tensor) -> Tensor:
    """A CPU tensor over the bytes of a simulated device tensor (below autograd)."""
    if tensor.layout is not _strided:
        if tensor.layout is _coordinates:
            return _with_parts(tensor, to_host, torch.device("cpu"))
        raise limit(f"layout {tensor.layout} is not simulated")
    if _complex_seen and (tensor.is_conj() or tensor.is_neg()):
        return _to_host_with_bits(tensor)
    view = _retag(tensor, _KDL_CPU)
    shape = view.shape
    if 1 in shape or 0 in shape:
        return _with_strides_of(tensor, view)
    return view


def _to_host_with_bits(tensor: Tensor) -> Tensor:
    aten = torch.ops.aten
    conj, neg = tensor.is_conj(), tensor.is_neg()
    if conj:
        tensor = aten._conj.default.redispatch(CPU_KEYS, tensor)
    if neg:
        tensor = aten._neg_view.default.redispatch(CPU_KEYS, tensor)
    view = _with_strides_of(tensor, _retag(tensor, _KDL_CPU))
    if conj:
        view = aten._conj.default(view)
    if neg:
        view = aten._neg_view.default(view)
    return view


def to_device(tensor: Tensor) -> Tensor:
    """A simulated device tensor over the bytes of a CPU tensor.

    Raises TypeError for a dtype that the device lacks, SimulatorLimit for layouts that are not
    simulated.
    """
    if tensor.layout is not _strided:
        if tensor.layout is _coordinates:
            return coordinates_on_device(tensor)
        raise limit(f"layout {tensor.layout} is not simulated")
    if tensor.dtype in _SPECIAL_DTYPES:
        tensor = _checked(tensor)
    view = _retag(tensor, SIM.spec.dlpack_code)
    shape = view.shape
    if 1 in shape or 0 in shape:
        view = _with_strides_of(tensor, view)
    elif view.data_ptr() == 0 and view.numel():
        raise limit("the CPU kernel returned a tensor without storage")
    TRACKER.add(view)
    return view


def coordinates_on_device(tensor: Tensor) -> Tensor:
    """The same for a sparse tensor in coordinate form, which is two dense ones."""
    return _with_parts(tensor, to_device, SIM.device)


def _with_parts(tensor: Tensor, moved: Callable[[Tensor], Tensor], device: torch.device) -> Tensor:
    indices = _indices.redispatch(SPARSE_KEYS, tensor)
    values = _values.redispatch(SPARSE_KEYS, tensor)
    made: Tensor = _from_parts.redispatch(
        SPARSE_KEYS,
        tensor.sparse_dim(),
        tensor.dense_dim(),
        list(tensor.shape),
        moved(indices),
        moved(values),
        dtype=tensor.dtype,
        layout=_coordinates,
        device=device,
        is_coalesced=tensor.is_coalesced(),
    )
    return made


def _checked(tensor: Tensor) -> Tensor:
    contract.refuse_dtype(tensor.dtype)
    if tensor.dtype in _HALVES:
        RECORDER.halves.add(_HALVES[tensor.dtype])
    if tensor.is_complex():
        expect_complex()
        tensor = tensor.resolve_conj().resolve_neg()
    return tensor


def host_view(tensor: Tensor) -> Tensor:
    """What the harness itself reads: never counted, never on the device."""
    tensor = tensor.detach()
    return to_host(tensor) if tensor.device.type == SIM.name else tensor
