"""Accelerators that this build of torch was made for, and the machine under test lacks.

A build for CUDA differs from the CPU build in three places: names in ``torch._C``, the guard of the
device type, and the class of the hooks object through which the rest of libtorch asks about the
device. Names are left out before the Python half of torch sees them, so that it takes the ways that
it takes in a CPU build; the guard's place is emptied; and the hooks object becomes one of the base
class, which is what a CPU build has and every build carries.
"""

from __future__ import annotations

import ctypes
import importlib
import re
import sys
from typing import Any

GUARDS = "_ZN3c104impl26device_guard_impl_registryE"
GUARDS_LENGTH = 21
CPU_TYPE, META_TYPE = 0, 14

HOOKS = {
    "cuda": ("_ZN2at6detail12getCUDAHooksEv", "_ZTVN2at18CUDAHooksInterfaceE"),
    "mps": ("_ZN2at6detail11getMPSHooksEv", "_ZTVN2at17MPSHooksInterfaceE"),
    "xpu": ("_ZN2at6detail11getXPUHooksEv", "_ZTVN2at17XPUHooksInterfaceE"),
}

# What the C++ half adds to torch._C in builds for an accelerator alone. Dummies of some of these
# names come into a CPU build, too, but later and from Python.
_BUILT_IN = re.compile(
    r"_(cuda_|CUDA|Cuda|CUuuid|StaticCuda|FastCuda|cudart|cudnn|cusparselt|nccl_|nvtx|rocm_|jiterator_"
    r"|broadcast|scatter|gather|host_emptyCache|MemPool|graph_pool_handle|gds_|xpu_|Xpu|XPU"
    r"|mps_(compileShader|loadMetal))"
)
_FLAGS = ("_has_cudnn", "_has_cusparselt", "_has_magma")
_DEVICES = ("cuda", "mps", "xpu")
_VERSIONS = ("cuda", "hip", "xpu", "rocm")
_IN_DISTRIBUTED = ("ProcessGroupNCCL", "ProcessGroupXCCL")

BUILT_FOR: set[str] = set()
"""The devices that this build of torch was made for, once their names are gone."""


def without_names(c_module: Any) -> list[str]:
    """Leave out of ``torch._C`` what a CPU build lacks; returns the names that were there."""
    BUILT_FOR.update(name for name in _DEVICES if getattr(c_module, f"_has_{name}", False))
    found = [name for name in dir(c_module) if _BUILT_IN.match(name)]
    for name in found:
        delattr(c_module, name)
    for name in (*_FLAGS, *(f"_has_{device}" for device in _DEVICES)):
        if getattr(c_module, name, False) is True:
            setattr(c_module, name, False)
            found.append(name)
    version = importlib.import_module("torch.version")
    for name in _VERSIONS:
        if getattr(version, name, None):
            setattr(version, name, None)
            found.append(f"version.{name}")
    _without_collectives(c_module)
    return found


def _without_collectives(c_module: Any) -> None:
    start = getattr(c_module, "_c10d_init", None)
    if start is None:
        return

    def started() -> Any:
        result = start()
        module = sys.modules.get("torch._C._distributed_c10d")
        for name in _IN_DISTRIBUTED:
            if hasattr(module, name):
                delattr(module, name)
        return result

    c_module._c10d_init = started


def guards() -> Any:
    """libtorch's guards, one place for each device type."""
    from .vtables import library

    array = (ctypes.c_void_p * GUARDS_LENGTH).in_dll(library("c10"), GUARDS)
    if not array[CPU_TYPE] or not array[META_TYPE]:
        raise RuntimeError("the device guard registry of this torch has another layout")
    return array


def hooks(device: str) -> int:
    """The address of the object through which libtorch asks about a device."""
    from .vtables import library

    getter = getattr(library("torch_cpu"), HOOKS[device][0])
    getter.restype = ctypes.c_void_p
    return int(getter())


def without_devices() -> None:
    """Make libtorch believe that it was built for the CPU alone.

    Raises RuntimeError, AttributeError or ValueError when this torch is laid out otherwise.
    """
    from .vtables import become

    registry = guards()
    for index in range(GUARDS_LENGTH):
        if index not in (CPU_TYPE, META_TYPE):
            registry[index] = None
    for device, (_, base) in HOOKS.items():
        become(hooks(device), base)
