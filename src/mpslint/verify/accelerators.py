"""Which devices of a verification are real: those that this machine has, unless all are to be
simulated.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from mpslint.verify import compare, interpreter
from mpslint.verify.interpreter import Interpreter
from mpslint.verify.launch import Launch
from mpslint.verify.report import PASS, RAN, Run
from mpslint.verify.request import Request

# What the drivers for NVIDIA's and AMD's GPUs, and that of WSL, put there.
_DRIVERS = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/kfd", "/dev/dxg")


def found(request: Request, python: Interpreter) -> list[str]:
    """The accelerators that are used for real. Torch is imported to see only where there may be
    one, or where the request insists.
    """
    if request.real is False:
        return []
    if request.real is None and not likely(python):
        return []
    return interpreter.real_devices(request.interpreter, request.env)


def likely(python: Interpreter) -> bool:
    """Whether this build of torch and this machine could have an accelerator, without a look at
    torch itself.
    """
    if sys.platform == "darwin":
        return python.built_for != "cpu"
    return python.built_for == "gpu" and any(map(os.path.exists, _DRIVERS))


def counted(runs: Sequence[Run]) -> tuple[Run, ...]:
    """The runs that make the verdict, where a device was both simulated and real.

    A real device draws other random numbers, so that often nothing can be compared on it: then the
    comparison is that of its simulated twin, and the real run has shown that it runs there. Where
    the device cannot be simulated, the real one is what there is.
    """
    real = {run.device: run for run in runs if run.kind == "real" and run.device != "cpu"}
    passed = {run.device for run in runs if run.kind == "simulated" and run.verdict == PASS}
    return tuple(
        run
        for run in runs
        if not (run is real.get(run.device) and run.verdict == RAN and run.device in passed)
        and not (run.kind == "simulated" and run.device in real and run.unavailable)
    )


def unlike(real: Launch, simulated: Launch | None) -> str:
    """A note where the original's numbers on the real device are not those of the simulation."""
    if simulated is None or (simulated.device, simulated.kind) != (real.device, "simulated"):
        return ""
    differ = compare.values(simulated, real, compare.REAL_DEVICE)
    return (
        f"the original on real {real.device}, beside the simulation: {differ.text}"
        if differ
        else ""
    )
