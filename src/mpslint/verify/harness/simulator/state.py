"""What is being simulated in this process."""

from __future__ import annotations

from typing import NamedTuple

import torch

from ..recorder import RECORDER


class DeviceSpec(NamedTuple):
    """The numbers under which torch and DLPack know a device type."""

    name: str
    dlpack_code: int
    device_type: int
    key: str


SPECS: dict[str, DeviceSpec] = {
    "mps": DeviceSpec("mps", 8, 13, "MPS"),
    "cuda": DeviceSpec("cuda", 2, 1, "CUDA"),
}


class SimulatorLimit(NotImplementedError):
    """The simulation, not the device, cannot do this: the run proves nothing.

    Counted when it is made, so that a script which swallows it does not hide it.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(message)
        RECORDER.limit(message)


class Simulation:
    """The device, torch release and settings being simulated; filled once by ``install``."""

    name: str = ""
    spec: DeviceSpec
    device: torch.device
    version: tuple[int, int] = (0, 0)
    fallback: bool = False
    in_forked_child: bool = False

    @property
    def is_mps(self) -> bool:
        return self.name == "mps"


SIM = Simulation()


def limit(message: str) -> SimulatorLimit:
    """An exception that names the simulated device; raise what this returns."""
    return SimulatorLimit(f"simulated {SIM.name}: {message}")
