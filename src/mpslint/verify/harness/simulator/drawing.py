"""Random numbers that the simulated device draws: from which generator, and how many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..recorder import RECORDER
from . import generator
from .state import SIM

if TYPE_CHECKING:
    from .kernel import Kernel, Plan


def with_generator(plan: Plan, inner: Kernel) -> Kernel:
    """Give the kernel the right generator, renamed for the CPU while it runs."""
    position = plan.generator
    assert position is not None
    name = plan.names[position]

    def kernel(*args: Any, **kwargs: Any) -> Any:
        chosen = plan.argument(position, args, kwargs)
        if chosen is None and generator.shared():
            result = inner(*args, **kwargs)
            # How many, since a script may draw them one by one or all at once.
            if isinstance(result, torch.Tensor) and result.device.type == SIM.name:
                RECORDER.drawn += result.numel()
            return result
        if chosen is None:
            chosen = generator.default_generator()
        else:
            target = kwargs.get("out")
            if target is None and args and isinstance(args[0], torch.Tensor):
                target = args[0]
            kind = target.device.type if isinstance(target, torch.Tensor) else SIM.name
            if chosen.device.type != kind or kind != SIM.name:
                raise generator.wrong_generator(kind, chosen.device.type)
        with generator.AsCpuGenerator(chosen):
            if position < len(args):
                args = (*args[:position], chosen, *args[position + 1 :])
            else:
                kwargs[name] = chosen
            return inner(*args, **kwargs)

    return kernel
