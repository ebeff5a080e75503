"""``torch.Generator`` of the simulated device: a CPU generator under another name."""

from __future__ import annotations

import ctypes
import os
from typing import Any

import torch

from .state import SIM, SPECS

_Base: Any = torch._C.Generator

# c10::GeneratorImpl: vtable 8, reference counts 8, std::mutex 40, Device 2 (+6), DispatchKeySet 8
_DEVICE_OFFSET, _KEYS_OFFSET = 56, 64
_CPU_DEVICE_BITS = 0xFF00  # type 0, index -1


def _keys(name: str) -> int:
    key = getattr(torch._C.DispatchKey, name)
    return int(torch._C.DispatchKeySet(key).raw_repr())


_KEY_BITS: dict[str, int] = {"CPU": _keys("CPU"), "MPS": _keys("MPS"), "CUDA": _keys("CUDA")}


def layout_is_known() -> bool:
    """True when device and keys of a generator stand where we expect them."""
    generator = _Base("cpu")  # held while it is looked at: its memory is another's afterwards
    address = generator._cdata
    device = ctypes.c_uint16.from_address(address + _DEVICE_OFFSET).value
    keys = ctypes.c_uint64.from_address(address + _KEYS_OFFSET).value
    return device == _CPU_DEVICE_BITS and keys == _KEY_BITS["CPU"]


def _rename(generator: Any, to_cpu: bool) -> None:
    bits = _CPU_DEVICE_BITS if to_cpu else SPECS[SIM.name].device_type
    keys = _KEY_BITS["CPU" if to_cpu else SIM.spec.key]
    address = generator._cdata
    ctypes.c_uint16.from_address(address + _DEVICE_OFFSET).value = bits
    ctypes.c_uint64.from_address(address + _KEYS_OFFSET).value = keys


class _GeneratorType(type(_Base)):  # type: ignore[misc]
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _Base)


class Generator(_Base, metaclass=_GeneratorType):  # type: ignore[misc]
    """Stands in for ``torch.Generator``; makes generators of any device that exists."""

    def __new__(cls, device: Any = "cpu") -> Any:
        where = torch.device(device)
        if where.type != SIM.name:
            return _Base(where)
        generator = _Base("cpu")
        _rename(generator, to_cpu=False)
        return generator


class AsCpuGenerator:
    """While open, a CPU kernel accepts the generator of the simulated device."""

    __slots__ = ("generator",)

    def __init__(self, generator: Any) -> None:
        self.generator = generator

    def __enter__(self) -> Any:
        _rename(self.generator, to_cpu=True)
        return self.generator

    def __exit__(self, *exc: object) -> None:
        _rename(self.generator, to_cpu=False)


def wrong_generator(expected: str, found: str) -> RuntimeError:
    """What kernels say about a generator of another device."""
    return RuntimeError(f"Expected a '{expected}' device type for generator but found '{found}'")


_default: Any | None = None
_shared = os.environ.get("MPSLINT_SHARED_GENERATOR") == "1"


def shared() -> bool:
    """Whether operators without a generator draw from the CPU's default one.

    The verifier asks for it, so that the same program draws the same numbers on every device and
    runs can be compared.
    """
    return _shared


def default_generator() -> Any:
    """The one default generator of the simulated device."""
    global _default
    if _default is None:
        _default = Generator(SIM.name)
        _default.manual_seed(torch.initial_seed())
    return _default


def install() -> None:
    """Replace ``torch.Generator``; raises RuntimeError on an unknown layout."""
    if not layout_is_known():
        raise RuntimeError("c10::GeneratorImpl of this torch has another layout")
    torch.Generator = Generator  # type: ignore[misc]
    default_generator()
