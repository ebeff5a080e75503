"""Generated programs before and after their fixes, on each kind of machine."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from mpslint.fixing.fixing import Planned, plan
from mpslint.settings.settings import Settings

from .programs import Ended, ended, written

MACHINES = ("cpu", "cuda", "mps")
_FIXED = "_fixed"
_MEMORY = "memory_allocated"
"""What a program prints of this is no result of it: where a tensor is moved decides."""


class Fixed(NamedTuple):
    """One program on one machine."""

    name: str
    machine: str
    before: str
    after: str
    ended_before: Ended
    ended_after: Ended

    @property
    def ran_before(self) -> bool:
        return self.ended_before.raised is None

    @property
    def harmed(self) -> bool:
        """It ran through, and fixed it raises or prints something else."""
        if not self.ran_before:
            return False
        if self.ended_after.raised is not None:
            return True
        return _MEMORY not in self.before and self.ended_after.printed != self.ended_before.printed

    @property
    def cured(self) -> bool:
        """It raised, and fixed it runs through."""
        return not self.ran_before and self.ended_after.raised is None

    def __str__(self) -> str:
        """For people who look into a difference."""
        return (
            f"{self.name} on {self.machine}: {self.ended_before} -> {self.ended_after}\n"
            f"{self.before}\n--- fixed ---\n{self.after}"
        )


def fixed_programs(seeds: Iterable[int], folder: Path, *, unsafe: bool = False) -> list[Fixed]:
    """The programs of these seeds that a fix changes, once a machine."""
    changed: dict[str, tuple[str, str]] = {}
    for seed in seeds:
        name, before = f"program_{seed}", written(seed)
        planned = plan(f"{name}.py", before.encode(), Settings(), unsafe=unsafe)
        assert isinstance(planned, Planned), planned
        if planned.changed:
            changed[name] = before, planned.after.decode()
    texts = {name: before for name, (before, _) in changed.items()}
    texts |= {name + _FIXED: after for name, (_, after) in changed.items()}
    out = []
    for machine in MACHINES:
        outcomes = ended(texts, machine, folder / machine)
        out += [
            Fixed(name, machine, *pair, outcomes[name], outcomes[name + _FIXED])
            for name, pair in changed.items()
        ]
    return out
