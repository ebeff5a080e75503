"""How far a run goes: to the program's own end, where that comes in time."""

from __future__ import annotations

from typing import NamedTuple

from mpslint.verify.launch import Launch

_SHARE = 0.4  # of the time limit: five minutes make two
_NEVER = 10**9
FORWARDS_PER_STEP = 8  # of a program that trains nothing


class Pace(NamedTuple):
    """steps: optimizer steps after which a run ends (0: it does not); forwards: forward passes
    after which one that trains nothing ends (0: by `steps`); patience: seconds after which one ends
    at its next step (0: it does not).
    """

    steps: int
    forwards: int = 0
    patience: float = 0.0

    def arguments(self) -> list[str]:
        """What the harness calls this."""
        return [
            *("--steps", str(self.steps)),
            *("--forwards", str(self.forwards)),
            *("--patience", f"{self.patience:.1f}"),
        ]

    def after(self, reference: Launch) -> Pace:
        """Where the others must end to be compared with the first run."""
        if not self.patience:
            return self
        if reference.outcome != "stopped":
            return Pace(0)
        if reference.steps:
            return Pace(reference.steps, _NEVER)
        return Pace(0, reference.forwards)

    def cut_by_clock(self, launch: Launch) -> bool:
        """The harness ended the run because of time, not because it had seen enough."""
        if launch.outcome != "stopped":
            return False
        if launch.steps or launch.value("optimizers", 0):
            return not self.steps or launch.steps < self.steps
        enough = self.forwards or FORWARDS_PER_STEP * self.steps
        return not enough or launch.forwards < enough


def asked_for(steps: int, timeout: float, trains: bool) -> Pace:
    """`steps` as the user gives them; 0: as far as the program goes, within a part of the limit."""
    if steps:
        return Pace(steps, _NEVER if trains else 0)
    return Pace(0, 0, timeout * _SHARE)
