"""Models that the patched script leaves on the CPU, though the original has them on the device."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from mpslint.verify.launch import Launch

_LITTLE = 0.01  # of all work: told, not held against it


class Work(NamedTuple):
    """Estimated operations of one module."""

    on_device: float
    elsewhere: float

    @property
    def all(self) -> float:
        return self.on_device + self.elsewhere

    @property
    def is_on_device(self) -> bool:
        return 2 * self.on_device >= self.all


def of(launch: Launch) -> dict[str, Work]:
    """Each module's work, by its name in the model."""
    found: dict[str, Work] = {}
    for name, on, away in launch.value("placement", []):
        found[str(name)] = Work(float(on), float(away))
    return found


def left_behind(reference: Launch, patched: Launch) -> tuple[str, float] | None:
    """What runs on the CPU in the patched script alone, in words, and its share of the work."""
    before, after = of(reference), of(patched)
    total = sum(work.all for work in after.values())
    left = {
        name
        for name, work in after.items()
        if not work.is_on_device and name in before and before[name].is_on_device
    }
    if not left or not total:
        return None
    share = sum(after[name].all for name in left) / total
    named = ", ".join(_joined(left, after))
    many = "runs" if len(_joined(left, after)) == 1 else "run"
    words = f"{named} {many} on the CPU ({100 * share:.0f} % of the work of all models)"
    return f"{words}, on {reference.name} on the device", share


def is_little(share: float) -> bool:
    return share < _LITTLE


def _joined(left: Iterable[str], known: Mapping[str, Work]) -> list[str]:
    """The names, and for parts that are all left the whole."""
    names = set(left)
    found: dict[str, None] = {}
    for name in known:
        if name not in names:
            continue
        parts = name.split(".")
        for count in range(1, len(parts) + 1):
            whole = ".".join(parts[:count])
            if all(one in names for one in known if f"{one}.".startswith(f"{whole}.")):
                found[whole] = None
                break
    return list(found)
