"""A simulated ``mps`` or ``cuda`` device, in place of whatever devices this torch was built for.

Tensors are genuine: real dispatch keys, real autograd, autocast, views and errors. Only memory and
arithmetic are the CPU's.
"""

from __future__ import annotations

import torch

from .. import absent, optable
from ..bootstrap import Unavailable
from ..recorder import RECORDER
from . import accelerator_names, generator, legacy_types, native, registry, retag, selftest, storage
from .memory import TRACKER
from .state import SIM, SPECS

_OLDEST_FOR_MPS = (2, 9)  # before, DLPack's import refuses Metal


def _describe(version: optable.Version) -> str:
    return ".".join(map(str, version))


def install(device: str, torch_version: str | None, fallback: bool) -> None:
    """Install the device into this process; raises Unavailable when it does not hold.

    ``torch_version`` selects the operator table (mps only), ``fallback`` is what
    PYTORCH_ENABLE_MPS_FALLBACK said while torch was being loaded.
    """
    SIM.name = device
    SIM.spec = SPECS[device]
    SIM.device = torch.device(device, 0)
    SIM.fallback = fallback
    try:
        table = optable.open_table(torch.__version__, torch_version)
    except ValueError as error:
        raise Unavailable(str(error)) from error
    SIM.version = table.version
    RECORDER.simulates = _describe(table.version)
    if SIM.is_mps and optable.parse_version(torch.__version__) < _OLDEST_FOR_MPS:
        raise Unavailable(
            f"torch {torch.__version__} cannot take memory for MPS tensors from elsewhere; "
            f"{_describe(_OLDEST_FOR_MPS)} or newer is needed"
        )
    retag.check_capsule_layout()
    native.install()
    registry.install(table)
    generator.install()
    storage.install()
    accelerator_names.install()
    if SIM.is_mps:
        from . import mps_names

        mps_names.install()
        if "cuda" in absent.BUILT_FOR:
            legacy_types.leave_out()
    else:
        from . import cuda_names

        cuda_names.install()
    passed, failed = selftest.run()
    RECORDER.forget()
    TRACKER.reset_peak()
    generator.default_generator().manual_seed(torch.initial_seed())
    RECORDER.self_test = {"passed": passed, "failed": failed}
    if failed:
        raise Unavailable(
            f"the simulated {device} does not hold on torch {torch.__version__}: "
            + "; ".join(failed)
        )
