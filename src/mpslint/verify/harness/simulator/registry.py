"""Registers a Python kernel for every operator that the real backend has one for."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable
from typing import Any

import torch

from .. import absent
from ..optable import OperatorTable
from . import (
    attention,
    collectives,
    coordinates,
    fallback,
    memory_kernels,
    substitutes,
    sync_points,
)
from .kernel import Details
from .making import make_kernel
from .mps_rules import RULES, WRONG_UP_TO_2_13, lstm
from .state import SIM, limit

_libraries: list[Any] = []
_shadows: dict[tuple[str, str], Any] = {}

# Left to their decompositions: the Mac build takes another path by #ifdef, or the decomposition
# is the same arithmetic and spares a second forward pass in the backward.
_COMPOSITE_INSTEAD = {"_fused_rms_norm", "max_pool2d", "max_pool2d_backward"}

# Tensors of these layouts have dispatch keys of their own; of them only sparse ones in coordinate
# form are simulated.
_COORDINATES = "Sparse"
_OTHER_LAYOUTS = (_COORDINATES, "SparseCsr", "Quantized", "NestedTensor")

# Not kernels of the real backends, but what their composites are computed with here.
_NEEDED = {
    "convolution_overrideable",
    "convolution_backward_overrideable",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_flash_attention_for_cpu_backward",
}


def _library(namespace: str, key: str) -> Any:
    make: Any = torch.library.Library
    return make(namespace, "IMPL", key)


def _give(library: Any, name: str, kernel: Callable[..., Any], key: str) -> None:
    """Register a kernel as the compiled ones are: Python's half of torch, which has a few of its
    own and lets an operator have one alone, does not hear of it.
    """
    heard, listed = torch.library._impls, f"{library.ns}/{name}/{key}"
    heard.discard(listed)
    library.impl(name, kernel, key)
    heard.discard(listed)


def find_operator(name: str) -> Any | None:
    """``add.Tensor`` to its OpOverload, None where this torch has no such operator."""
    base, _, overload = name.partition(".")
    packet = getattr(torch.ops.aten, base, None)
    return getattr(packet, overload or "default", None)


def _without_cpu_kernel(name: str) -> Callable[..., Any]:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        raise limit(f"aten::{name} has no CPU kernel to compute it with")

    return kernel


class Registrar:
    """Registers kernels for one dispatch key."""

    def __init__(self, table: OperatorTable) -> None:
        self.table = table
        self.key = SIM.spec.key
        self.library = _library("aten", "")
        self.done: set[str] = set()
        self.host_kernels = table.registered("CPU")
        self.rules = RULES if SIM.is_mps else {}
        if SIM.is_mps and table.version < (2, 14):
            self.rules = RULES | WRONG_UP_TO_2_13
        self.substitutes = substitutes.table(SIM.name)
        self.syncs = sync_points.table(SIM.name)

    def add(self, name: str, kernel: Callable[..., Any]) -> None:
        _give(self.library, name, kernel, self.key)
        self.done.add(name)

    def generic(self, name: str) -> None:
        """Register the generic kernel for one operator."""
        operator = find_operator(name)
        if operator is None:
            return
        substitute = self.substitutes.get(name)
        entry = self.table.operators.get(name)
        has_cpu = name in self.host_kernels or (entry is not None and entry.is_composite)
        if substitute is None and not has_cpu:
            self.add(name, _without_cpu_kernel(name))
            return
        sync = self.syncs.get(name)
        details = Details(
            host_operator=substitute,
            rule=sync_points.RULES.get(name) or self.rules.get(name),
            sync=sync and sync[0],
            sync_count=sync[1] if sync else 1,
            checked=self.table.is_checked(name),
            structured=self.table.is_structured(name),
        )
        self.add(name, make_kernel(operator, name, details))

    def names(self) -> set[str]:
        """Operators with a kernel on the simulated backend."""
        if SIM.is_mps:
            return self.table.mps_kernels()
        return self.table.registered("CUDA")

    def everything(self) -> None:
        by_hand: dict[str, Callable[..., Any]] = memory_kernels.kernels()
        if not SIM.is_mps:
            by_hand["record_stream"] = lambda *args: None
        for name, kernel in by_hand.items():
            self.add(name, kernel)
        names = self.names() | _NEEDED
        if SIM.is_mps:
            names.add("_slow_conv2d_forward")
        for name in sorted(names - self.done - _COMPOSITE_INSTEAD):
            if not name.startswith("_copy_from"):
                self.generic(name)
        for key in (self.key, "Autograd" + self.key):
            self.library.impl(
                "scaled_dot_product_attention", attention.scaled_dot_product_attention, key
            )
        self.done.add("scaled_dot_product_attention")
        if SIM.is_mps:
            for key in (self.key, "Autograd" + self.key):
                self.library.impl("lstm.input", lstm, key)
            self.done.add("lstm.input")
        if SIM.is_mps:
            for name in sorted(self.table.mps_always_fallback()):
                operator = find_operator(name)
                if operator is not None:
                    self.add(name, fallback.always_on_cpu(operator))


def _real_kernels(key: str, done: set[str]) -> list[tuple[str, str]]:
    """(namespace, name) of what this build of torch has compiled for ``key`` beside ``done``."""
    found = []
    for full in torch._C._dispatch_get_registrations_for_dispatch_key(key):
        namespace, _, name = full.partition("::")
        known = namespace == "aten" and name in done
        if not known and namespace != collectives.NAMESPACE:
            found.append((namespace, name))
    return found


def _shadow(key: str, done: set[str], kernel: Callable[..., Any]) -> None:
    """Let ``kernel`` answer where a build for the device would use it."""
    for namespace, name in _real_kernels(key, done):
        base, _, overload = name.partition(".")
        packet = getattr(getattr(torch.ops, namespace), base, None)
        operator = getattr(packet, overload or "default", None)
        if operator is None:
            continue
        keys, answer = [key], functools.partial(kernel, operator)
        if key == SIM.spec.key and name in _COMPOSITE_INSTEAD:
            keys, answer = [key, "Autograd" + key], operator.decompose
        for one in keys:
            library = _shadows.setdefault((namespace, one), _library(namespace, one))
            _give(library, name, answer, one)


def _other_keys() -> list[str]:
    """Keys of the device's sparse, quantised and nested tensors; not every device has each."""
    found = []
    for layout in _OTHER_LAYOUTS:
        with contextlib.suppress(RuntimeError):  # a key that exists and cannot be named
            torch._C._dispatch_key_parse(layout + SIM.spec.key)
            found.append(layout + SIM.spec.key)
    return found


def _give_coordinates(table: OperatorTable) -> set[str]:
    """Kernels for sparse tensors in coordinate form; returns which operators have one."""
    if not coordinates.are_there():
        return set()
    key = _COORDINATES + SIM.spec.key
    library = _library("aten", key)
    _libraries.append(library)
    computed = table.registered(_COORDINATES + "CPU")
    given = set()
    for name in sorted(table.registered(key) & computed):
        operator = find_operator(name)
        if operator is not None:
            kernel = coordinates.kernel_for(operator, name, table.is_checked(name))
            _give(library, name, kernel, key)
            given.add(name)
    return given


def install(table: OperatorTable) -> int:
    """Register all kernels; returns how many."""
    registrar = Registrar(table)
    rest = _library("_", SIM.spec.key)
    between = _library(collectives.NAMESPACE, SIM.spec.key)
    _libraries.extend([registrar.library, rest, between])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        registrar.everything()
        rest.fallback(fallback.fallback)
        if not SIM.is_mps:
            for name, kernel in collectives.kernels().items():
                between.impl(name, kernel, SIM.spec.key)
        for key in _other_keys():
            other = _library("_", key)
            _libraries.append(other)
            other.fallback(fallback.other_layout)
            done = _give_coordinates(table) if key == _COORDINATES + SIM.spec.key else set()
            if SIM.name in absent.BUILT_FOR:
                _shadow(key, done, fallback.not_simulated)
        if SIM.name in absent.BUILT_FOR:
            _shadow(SIM.spec.key, registrar.done, fallback.fallback)
    return len(registrar.done)
