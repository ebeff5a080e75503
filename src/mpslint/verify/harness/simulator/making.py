"""Makes the kernels that are registered, each of the cheapest kind that does what it must."""

from __future__ import annotations

from typing import Any

from ..recorder import RECORDER
from . import drawing, fast_path, timeline
from .kernel import Details, Kernel, Plan, full_kernel


def counted(inner: Kernel) -> Kernel:
    """Count one device operation per call."""

    def kernel(*args: Any, **kwargs: Any) -> Any:
        if RECORDER.tick() == 1:
            RECORDER.begins()
        return inner(*args, **kwargs)

    return kernel


def make_kernel(operator: Any, name: str, details: Details) -> Kernel:
    """The kernel to register for ``operator`` on the simulated device.

    What its schema says is looked at when it is first called: a program calls a few of more than a
    thousand.
    """
    made: Kernel | None = None

    def kernel(*args: Any, **kwargs: Any) -> Any:
        nonlocal made
        if made is None:
            made = _made(operator, name, details)
        return made(*args, **kwargs)

    kernel.__name__ = "simulated_" + name.replace(".", "_")
    return kernel


def _made(operator: Any, name: str, details: Details) -> Kernel:
    plan = Plan(operator, name, details)
    kernel = full_kernel(plan)
    if plan.generator is not None:
        kernel = counted(drawing.with_generator(plan, kernel))
    elif fast_path.applies(plan):
        kernel = fast_path.make(plan, kernel)
    else:
        kernel = counted(kernel)
    return timeline.traced(name, kernel) if RECORDER.trace else kernel
