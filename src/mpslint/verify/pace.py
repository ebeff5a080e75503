"""How far a run goes: to the program's own end, where that comes in time, else with long loops gone
through in part.
"""

from __future__ import annotations

from typing import NamedTuple

from mpslint.verify.launch import Launch

_SHARE = 0.4  # of the time limit: five minutes make two
_NEVER = 10**9
FORWARDS_PER_STEP = 8  # of a program that trains nothing
_FEWEST, _MOST = 4, 12  # rounds of a loop that is gone through in part
_TIMES = 3  # that an optimizer steps within them, where its gradients are gathered over some
_FLOOR = 45.0  # seconds that a port always gets; more when the original needed more
_LONGER = 10  # times as long as the original
_PART = 1 / 16  # of the patience: two epochs with an evaluation each are to take a quarter


class Pace(NamedTuple):
    """steps: optimizer steps after which a run ends (0: it does not); forwards: forward passes
    after which one that trains nothing ends (0: by `steps`); patience: seconds after which one ends
    at its next step (0: it does not); sample: how many rounds of a long loop are run (0: all).
    """

    steps: int
    forwards: int = 0
    patience: float = 0.0
    sample: int = 0

    def arguments(self) -> list[str]:
        """What the harness calls this."""
        return [
            *("--steps", str(self.steps)),
            *("--forwards", str(self.forwards)),
            *("--patience", f"{self.patience:.1f}"),
            *("--sample", str(self.sample)),
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

    def in_part(self, cut: Launch) -> Pace | None:
        """How to come to the end of a program all the same, whose run was cut off by the clock;
        None where nothing says how.
        """
        rounds = max(len(cut.value("losses", [])), cut.steps) or cut.forwards
        if not self.patience or cut.outcome != "stopped" or not rounds:
            return None
        fit = int(self.patience * _PART * rounds / max(cut.seconds, 1e-3))
        gathered = -(-rounds // cut.steps) if cut.steps else 1
        wanted = max(_FEWEST, min(fit, _MOST), _TIMES * gathered)
        return Pace(0, sample=wanted)

    def cut_by_clock(self, launch: Launch) -> bool:
        """The harness ended the run because of time, not because it had seen enough."""
        if launch.outcome != "stopped":
            return False
        if launch.steps or launch.value("optimizers", 0):
            return not self.steps or launch.steps < self.steps
        enough = self.forwards or FORWARDS_PER_STEP * self.steps
        return not enough or launch.forwards < enough

    def needs_longer(self, port: Launch, timeout: float) -> bool:
        """Whether a port was on its way, and got less time than there is: where others keep the
        machine busy, what the original needed says little.
        """
        on_its_way = bool(port.steps or port.forwards)
        return on_its_way and port.limit < timeout and self.cut_by_clock(port)


def limit(reference: Launch | None, timeout: float) -> float:
    """Seconds that a port gets at first."""
    if reference is None:
        return timeout
    return min(timeout, max(_FLOOR, _LONGER * reference.seconds))


def asked_for(steps: int, timeout: float, trains: bool) -> Pace:
    """`steps` as the user gives them; 0: as far as the program goes, within a part of the limit."""
    if steps:
        return Pace(steps, _NEVER if trains else 0)
    return Pace(0, 0, timeout * _SHARE)
