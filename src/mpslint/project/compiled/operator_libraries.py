"""Operators that a project registers with torch (`torch.ops.<library>.<operator>`), and where they
run: what it compiles for CUDA alone is not there on a Mac, and neither is a kernel of its own that
it registers for CUDA alone.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.worlds.kernels import is_extension_operator
from mpslint.semantics.worlds.machines import ALL, NVIDIA

if TYPE_CHECKING:
    from mpslint.project.compiled.built_extensions import BuiltExtensions
    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Projects

OPERATORS = "torch.ops."
SOME = "*"
"""Stands for an operator that is named by a value (`getattr(torch.ops.mine, name)`)."""
# Fact: torch, `torch.ops`: `_OpNamespace`, by attribute, and an operator of it by another one.
_NAMED = re.compile(rb"\btorch\.ops\.(\w+)(?:\.(\w+))?")
# Fact: torch/library.py: what registers an operator, with the position of its kernel's device in
# the arguments and the keyword; `custom_op` and `triton_op` bring one kernel for all devices.
_DEVICE_OF = {
    "impl": (1, ("types", "dispatch_key")),
    "register_kernel": (1, ("device_types",)),
    "custom_op": (None, ("device_types",)),
    "triton_op": (None, ()),
    "impl_abstract": (None, ()),
}
_MAKING = frozenset({"custom_op", "triton_op"})
_DECLARE = frozenset({"define", "register_fake", "impl_abstract", "register_autograd"})
"""They bring no kernel. A backward needs the kernels of what it is the backward of."""
_ANYWHERE = "*"
# Fact: c10/core/DispatchKey.cpp, `parseDispatchKey`, and torch/library.py, `_device_type_to_key`.
_OF_OTHERS = frozenset({"cuda", "xpu", "hpu", "hip", "npu", "mtia"})
"""Keys of kernels that no Mac runs, in small letters."""
_OF_NONE = ("meta", "autograd", "fake")
"""What keys begin with that say nothing of where an operator's kernels run."""
_ALL_OF = "*"
"""The name of an operator that a text does not say: any of its library, or of all."""
_REGISTERS = (b"torch.library", b"Library(", b"custom_op", b"triton_op")


def operators_named(text: bytes) -> Iterator[str]:
    """The operators of libraries that are none of torch's own which a text names."""
    if b"torch.ops." not in text:
        return
    for library, operator in dict.fromkeys(_NAMED.findall(text)):
        name = f"{OPERATORS}{library.decode()}.{operator.decode() or SOME}"
        if is_extension_operator(name):
            yield name


class OperatorLibraries:
    def __init__(self, modules: Modules, projects: Projects, built: BuiltExtensions) -> None:
        self._modules = modules
        self._projects = projects
        self._built = built
        self._kernels: dict[str, dict[str, set[str]]] = {}
        """By the head of a project: by operator (`library::name`), for what it has kernels."""

    def worlds(self, path: str, operator: str) -> tuple[int, tuple[str, ...]]:
        """The worlds in which the file at the absolute `path` can run `torch.ops.<l>.<o>`, as far
        as its project says; and the files that this rests on."""
        library, _, name = operator.removeprefix(OPERATORS).partition(".")
        whole = self._projects.wide(path)
        if whole is None:
            return ALL, ()
        if whole.head not in self._kernels:
            self._kernels[whole.head] = _registered(self._modules, whole.modules)
        kernels = self._kernels[whole.head]
        built, otherwise, scripts = self._built.for_cuda_alone(path)
        if otherwise or f"{library}::{_ALL_OF}" in kernels or _ALL_OF in kernels:
            return ALL, (*scripts, *whole.files)
        devices = kernels.get(f"{library}::{name.partition('.')[0]}")
        if devices:
            return NVIDIA if devices <= _OF_OTHERS else ALL, (*scripts, *whole.files)
        is_own = any(library in name.split(".") for name in built)
        return NVIDIA if is_own else ALL, (*scripts, *(whole.files if is_own else ()))


def _registered(modules: Modules, paths: tuple[str, ...]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in paths:
        text = modules.text(path) or b""
        if not os.path.basename(path).startswith("setup") and any(w in text for w in _REGISTERS):
            tree = modules.tree(path)
            for name, devices in _registrations(tree) if tree is not None else ():
                found.setdefault(name, set()).update(devices)
    return found


def _registrations(tree: ast.Module) -> Iterator[tuple[str, set[str]]]:
    libraries: dict[str, str] = {}
    """What a file calls its libraries, by their names for torch: `lib = Library("mine", "DEF")`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            name = _text(node.value.args[0]) if node.value.args else ""
            if last_name(node.value.func) == "Library" and name:
                libraries.update({last_name(target) or "": name for target in node.targets})
    operators = {
        item.name: name
        for item in ast.walk(tree)
        if isinstance(item, FUNCTIONS)
        for decorator in item.decorator_list
        if isinstance(decorator, ast.Call) and last_name(decorator.func) in _MAKING
        if (name := _text(decorator.args[0]) if decorator.args else "")
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and last_name(node.func) in (*_DEVICE_OF, *_DECLARE):
            yield from _registration(node, libraries, operators)


def _registration(
    node: ast.Call, libraries: dict[str, str], operators: dict[str, str]
) -> Iterator[tuple[str, set[str]]]:
    kind, given = last_name(node.func) or "", list(node.args)
    if kind in _DECLARE:
        return
    owner = (last_name(node.func.value) or "") if isinstance(node.func, ast.Attribute) else ""
    library = libraries.get(owner)
    by_method = library is not None
    if kind == "register_kernel" and owner in operators:
        # `@nms.register_kernel("cpu")` of what `custom_op` has made
        yield operators[owner], set(_devices(given[0] if given else None))
        return
    if not by_method and given and last_name(given[0]) in libraries:
        library = libraries[last_name(given[0]) or ""]  # `@torch.library.impl(lib, "name", "CUDA")`
        del given[0]
    if not given:
        return
    name = _text(given[0]).partition("(")[0]
    if not name:
        begun = given[0].values[0] if isinstance(given[0], ast.JoinedStr) else given[0]
        told, dots, _ = _text(begun).partition("::")
        known = library or (told if dots else "")
        yield f"{known}::{_ALL_OF}" if known else _ALL_OF, set()
        return
    if "::" not in name:
        if library is None:
            return
        name = f"{library}::{name}"
    position, keywords = _DEVICE_OF[kind]
    at = 2 if by_method and kind == "impl" else position
    device = given[at] if at is not None and len(given) > at else None
    for keyword in node.keywords:
        if keyword.arg in keywords:
            device = keyword.value
    yield name, set(_devices(device))


def _devices(node: ast.expr | None) -> Iterator[str]:
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        for item in node.elts:
            yield from _devices(item)
        return
    device = _text(node).lower() if node is not None else ""
    if not device.startswith(_OF_NONE):
        yield device or _ANYWHERE


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
