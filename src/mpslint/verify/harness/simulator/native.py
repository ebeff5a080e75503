"""Makes libtorch believe that the device exists: its guard and its hooks.

Two objects are touched, after those of real devices have been taken away (``absent``). The device
guard registry gets a guard of our device type, made by torch's own Python guard class. The hooks
object (which a CPU build answers "not built" from) gets a copy of its vtable in which such
questions point at tiny functions of the CPU guard: return 0, return 1, do nothing.
"""

from __future__ import annotations

import ctypes
import itertools
from typing import Any, NamedTuple

import torch

from .. import absent
from ..vtables import library, replace_slots, slot, virtual_functions
from .state import SIM

_PRIVATE_TYPE = 20
_CPU_ALLOCATOR = "_ZN3c1015GetCPUAllocatorEv"

_ANSWER_ONE = (
    "isBuilt", "isAvailable", "hasMPS", "hasCUDA", "hasPrimaryContext", "deviceCount",
    "isOnMacOSorNewer", "getNumGPUs", "queryEvent", "hasBF16",
)  # fmt: skip
_ANSWER_ZERO = (
    "getCurrentDevice", "exchangeDevice", "maybeExchangeDevice", "isPinnedPtr",
    "getCurrentAllocatedMemory", "getDriverAllocatedMemory",
)  # fmt: skip
_DO_NOTHING = (
    "init", "setCurrentDevice", "deviceSynchronize", "commitStream", "emptyCache", "releaseEvent",
    "recordEvent", "waitForEvent", "synchronizeEvent",
)  # fmt: skip

_guards: list[Any] = []


class _Tiny(NamedTuple):
    """Addresses of functions in libtorch that do next to nothing."""

    zero: int
    one: int
    nothing: int


def _tiny_functions(cpu_guard: int, names: list[str]) -> _Tiny:
    tiny = _Tiny(
        zero=slot(cpu_guard, names.index("type")),
        one=slot(cpu_guard, names.index("deviceCount")),
        nothing=slot(cpu_guard, names.index("setDevice")),
    )
    answer = ctypes.CFUNCTYPE(ctypes.c_int8, ctypes.c_void_p)
    if answer(tiny.zero)(cpu_guard) != 0 or answer(tiny.one)(cpu_guard) != 1:
        raise RuntimeError("the CPU device guard of this torch has another layout")
    return tiny


def _install_guard(registry: Any, names: list[str], tiny: _Tiny) -> None:
    kinds = torch._C._autograd.DeviceType
    kind = kinds.MPS if SIM.is_mps else kinds.CUDA
    base: Any = torch._C._acc.DeviceGuard

    class Guard(base):  # type: ignore[misc]
        """A guard without behaviour: there is one device, always current."""

        # libtorch asks for it where no exception may pass, and aborts if one does. A built-in runs
        # no Python code, in which one from another thread could be raised.
        type_ = itertools.repeat(kind).__next__

    index = SIM.spec.device_type
    guard = Guard()
    _guards.append(guard)
    torch._C._acc.register_python_privateuseone_device_guard(guard)
    registry[index] = registry[_PRIVATE_TYPE]
    registry[_PRIVATE_TYPE] = None
    waits = ("synchronizeEvent", "synchronizeDevice", "synchronizeStream")
    replace_slots(
        registry[index],
        len(names) + 2,
        {names.index(name): tiny.nothing for name in waits if name in names},
    )


def _hook_slots() -> dict[str, int]:
    base = virtual_functions("ATen/detail/AcceleratorHooksInterface.h", "AcceleratorHooksInterface")
    name = f"{SIM.spec.key}HooksInterface"
    own = virtual_functions(f"ATen/detail/{name}.h", name)
    order = [function for function in base if not function.startswith("~")]
    order += [name for name in own if name not in order and not name.startswith("~")]
    # the two destructors come first
    return {function: index + 2 for index, function in enumerate(order)}


def _install_hooks(tiny: _Tiny) -> None:
    slots = _hook_slots()
    functions: dict[int, int] = {}
    for names, target in (
        (_ANSWER_ONE, tiny.one),
        (_ANSWER_ZERO, tiny.zero),
        (_DO_NOTHING, tiny.nothing),
    ):
        functions.update({slots[name]: target for name in names if name in slots})
    allocator = ctypes.cast(getattr(library("c10"), _CPU_ALLOCATOR), ctypes.c_void_p)
    functions[slots["getPinnedMemoryAllocator"]] = int(allocator.value or 0)
    replace_slots(absent.hooks(SIM.name), len(slots) + 2, functions)


def install() -> None:
    """Register guard and hooks; raises RuntimeError when this torch is laid out otherwise."""
    if not hasattr(torch._C, "_acc"):
        raise RuntimeError("this torch has no Python device guard (torch 2.9 or newer is needed)")
    names = virtual_functions(
        "c10/core/impl/DeviceGuardImplInterface.h", "DeviceGuardImplInterface"
    )
    absent.without_devices()
    registry = absent.guards()
    tiny = _tiny_functions(registry[absent.CPU_TYPE], names)
    _install_guard(registry, names, tiny)
    _install_hooks(tiny)
