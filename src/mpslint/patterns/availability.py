"""The tests for backends that fixes write, as the oldest supported torch takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.facts.torch_releases import FIRST_WITH_MPS
from mpslint.model import Applicability

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_MODULE_SINCE = (2, 1)
"""The first release whose `import torch` brings `torch.mps` along: 2.0 has the module, for who
imports it."""


def cuda_available(torch: str) -> str:
    return f"{torch}.cuda.is_available()"


def pins_available(context: Context, torch: str) -> str:
    """The test for a device that has pinned memory: CUDA, in a file that asks for CUDA; any
    accelerator but MPS, which has none, in one that asks for whichever there is."""
    asks = context.index.attributes.get("accelerator", ())
    if any(context.resolve(node) == "torch.accelerator" for node in asks):
        return f"{torch}.accelerator.is_available() and not {mps_available(context, torch)}"
    return cuda_available(torch)


def mps_available(context: Context, torch: str, *, module: bool = False) -> str:
    """The test for MPS; with `module` one that also answers for `torch.mps` itself."""
    mark, oldest = _mark(context), context.settings.oldest_started
    test = f"{torch}.backends.mps.is_available()"
    if module and oldest < _MODULE_SINCE:
        return f"hasattr({torch}, {mark}mps{mark}) and {test}"
    if oldest < FIRST_WITH_MPS:
        return f"hasattr({torch}.backends, {mark}mps{mark}) and {test}"
    return test


def wants_mps(context: Context) -> bool:
    """Whether the project asks for MPS at all (setting `device-order`)."""
    return "mps" in context.settings.device_order


def opening_level(context: Context) -> Applicability:
    """The level of a fix that selects MPS where the program did not: unsafe where the project
    selects it on request only, or has modules that cannot go there."""
    return Applicability.UNSAFE if context.held_back else Applicability.SAFE


def _mark(context: Context) -> str:
    from mpslint.patterns.text import quote

    return quote(context.source)
