"""Reading the order of virtual functions from torch's headers, and copying vtables.

Every installed torch carries the C++ headers that it was built from, so slot numbers are looked up
rather than guessed. Only pointers to functions that exist in torch already are ever written.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from typing import Any

import torch

_ROOT = os.path.dirname(torch.__file__)
_keep_alive: list[Any] = []

# offset-to-top and typeinfo stand before the address that an object points to (Itanium C++ ABI)
_PREFIX = 2


def library(name: str) -> ctypes.CDLL:
    """A shared library of the installed torch (`c10`, `torch_cpu`), loaded already."""
    suffix = "dylib" if sys.platform == "darwin" else "so"
    return ctypes.CDLL(os.path.join(_ROOT, "lib", f"lib{name}.{suffix}"))


def virtual_functions(header: str, struct: str) -> list[str]:
    """Names of the virtual functions that ``struct`` declares, in order."""
    with open(os.path.join(_ROOT, "include", header), encoding="utf-8") as stream:
        text = stream.read()
    match = re.search(rf"struct\s+(?:TORCH_API|C10_API)\s+{struct}\b", text)
    if match is None:
        raise RuntimeError(f"{header} does not declare {struct}")
    body = text[match.start() : text.find("\n};", match.start())]
    body = re.sub(r"//[^\n]*", "", body)
    return re.findall(r"virtual\s+[^;{]*?(~?\w+)\s*\(", body)


def address_of_vtable(instance: int) -> int:
    """Where the object at ``instance`` has its table of virtual functions."""
    return int(ctypes.c_void_p.from_address(instance).value or 0)


def become(instance: int, name: str) -> None:
    """Give ``instance`` the vtable of another class of libtorch_cpu, by its mangled name."""
    table = ctypes.c_void_p.in_dll(library("torch_cpu"), name)
    ctypes.c_void_p.from_address(instance).value = ctypes.addressof(table) + 8 * _PREFIX


def slot(instance: int, index: int) -> int:
    """The function pointer in one slot."""
    return int(ctypes.c_void_p.from_address(address_of_vtable(instance) + 8 * index).value or 0)


def replace_slots(instance: int, count: int, functions: dict[int, int]) -> None:
    """Give ``instance`` a copy of its vtable in which some slots point elsewhere."""
    old = address_of_vtable(instance)
    table = (ctypes.c_void_p * (count + _PREFIX))()
    for index in range(count + _PREFIX):
        table[index] = ctypes.c_void_p.from_address(old + 8 * (index - _PREFIX)).value
    for index, function in functions.items():
        table[_PREFIX + index] = function
    _keep_alive.append(table)
    ctypes.c_void_p.from_address(instance).value = ctypes.addressof(table) + 8 * _PREFIX
