"""Makes libtorch believe that the device exists: its guard and its hooks.

Two objects are touched, after those of real devices have been taken away (``absent``). The device
guard registry gets a guard of our device type, made by torch's own Python guard class (before torch
2.10, which has none: a copy of the CPU's guard). The hooks
object (which a CPU build answers "not built" from) gets a copy of its vtable in which such
questions point at tiny functions of the CPU guard: return 0, return 1, do nothing.
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
import platform
from typing import Any, NamedTuple

import torch

from .. import absent
from ..vtables import address_of_vtable, library, replace_slots, slot, virtual_functions
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

_ANSWER_OURS = (
    "type", "exchangeDevice", "getDevice", "getStream", "getDefaultStream", "getNewStream",
    "getStreamFromGlobalPool", "exchangeStream",
)  # fmt: skip
_ABOUT_EVENTS = (
    "record", "block", "synchronizeEvent", "synchronizeDevice", "synchronizeStream",
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


def _python_guard(registry: Any, names: list[str], tiny: _Tiny) -> int:
    """The address of a guard made by torch's own class for that (torch 2.10 and newer)."""
    kinds = torch._C._autograd.DeviceType
    kind = kinds.MPS if SIM.is_mps else kinds.CUDA
    base: Any = torch._C._acc.DeviceGuard

    class Guard(base):  # type: ignore[misc]
        """A guard without behaviour: there is one device, always current."""

        # libtorch asks for it where no exception may pass, and aborts if one does. A built-in runs
        # no Python code, in which one from another thread could be raised.
        type_ = itertools.repeat(kind).__next__

    guard = Guard()
    _guards.append(guard)
    torch._C._acc.register_python_privateuseone_device_guard(guard)
    address = int(registry[_PRIVATE_TYPE])
    registry[_PRIVATE_TYPE] = None
    waits = ("synchronizeEvent", "synchronizeDevice", "synchronizeStream")
    replace_slots(
        address,
        len(names) + 2,
        {names.index(name): tiny.nothing for name in waits if name in names},
    )
    return address


def _machine_code(kind: int) -> bytes:
    """A function that returns ``kind`` in the first register and 0 in the second."""
    machine = platform.machine().lower()
    if machine in ("x86_64", "amd64"):  # xor edx, edx; mov eax, kind; ret
        return b"\x31\xd2\xb8" + kind.to_bytes(4, "little") + b"\xc3"
    if machine == "aarch64":  # mov x1, 0; mov w0, kind; ret
        words = (0xD2800001, 0x52800000 | kind << 5, 0xD65F03C0)
        return b"".join(word.to_bytes(4, "little") for word in words)
    raise RuntimeError(f"no device guard can be made on {machine} for a torch before 2.10")


def _function(code: bytes) -> int:
    """The address of new machine code."""
    page = mmap.mmap(-1, mmap.PAGESIZE)
    page.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    _guards.append(page)
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    if protect(address, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_EXEC):
        raise RuntimeError("this system forbids the code that a torch before 2.10 needs")
    return address


def _borrowed_guard(cpu_guard: int, names: list[str], tiny: _Tiny) -> int:
    """The address of a copy of the CPU's guard that answers with our device.

    A ``DeviceType`` is returned in the first register, a ``Device`` too (its index in the second
    byte), and a ``Stream`` as its device there and its number in the second register: one function
    gives all three, of device 0 and of the default stream.
    """
    instance = (ctypes.c_void_p * 2)(address_of_vtable(cpu_guard), None)
    ours = _function(_machine_code(SIM.spec.device_type))
    functions = {names.index(name): ours for name in _ANSWER_OURS if name in names}
    for name in _ABOUT_EVENTS:
        if name in names:
            functions[names.index(name)] = tiny.nothing
    if "queryEvent" in names:
        functions[names.index("queryEvent")] = tiny.one
    _guards.append(instance)
    replace_slots(ctypes.addressof(instance), len(names) + 2, functions)
    return ctypes.addressof(instance)


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
    names = virtual_functions(
        "c10/core/impl/DeviceGuardImplInterface.h", "DeviceGuardImplInterface"
    )
    absent.without_devices()
    registry = absent.guards()
    cpu_guard = int(registry[absent.CPU_TYPE])
    tiny = _tiny_functions(cpu_guard, names)
    if hasattr(torch._C, "_acc"):
        guard = _python_guard(registry, names, tiny)
    else:
        guard = _borrowed_guard(cpu_guard, names, tiny)
    registry[SIM.spec.device_type] = guard
    _install_hooks(tiny)
