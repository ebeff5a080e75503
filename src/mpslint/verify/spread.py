"""A program whose numbers change from run to run: where those of another run should lie.

Three runs say little of a distribution. Only what lies far from all of them is told; what does not
is no proof that the two are the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from mpslint.verify.launch import Launch

_WIDTHS = 5.0  # of the range of the runs, to either side of it
_NARROWEST = (
    0.02  # such a range, as a share of the values: three may lie close to each other by chance
)
_LAST = 4  # the last quarter


def outside(runs: Sequence[Launch], other: Launch) -> str | None:
    """What of a run lies far from that of some runs of another program, in words."""
    for what, summary in _SUMMARIES.items():
        known = [value for run in runs if (value := summary(run)) is not None]
        found = summary(other)
        if found is None or not known or len(known) < len(runs):
            continue
        finite = [value for value in known if math.isfinite(value)]
        if len(finite) < len(known):
            continue  # what has no size has no range
        low, high = min(finite), max(finite)
        width = max(high - low, _NARROWEST * max(abs(low), abs(high)))
        if not low - _WIDTHS * width <= found <= high + _WIDTHS * width:
            those = f"those of {len(runs)} runs of the original {low:.4g} to {high:.4g}"
            return f"{what} {found:.4g}, {those}"
    return None


def _mean(losses: Sequence[float]) -> float | None:
    return math.fsum(losses) / len(losses) if losses else None


def _losses(launch: Launch) -> list[float]:
    return [float(loss) for loss in launch.value("losses", [])]


def _last_losses(launch: Launch) -> float | None:
    losses = _losses(launch)
    return _mean(losses[-max(len(losses) // _LAST, 1) :])


def _weights(launch: Launch) -> float | None:
    digests = launch.value("params_digest", [])
    return float(digests[-1]["l2"]) if digests else None


_SUMMARIES: dict[str, Callable[[Launch], float | None]] = {
    "its losses are on the average": lambda launch: _mean(_losses(launch)),
    "its last losses are on the average": _last_losses,
    "the norm of its weights is at last": _weights,
}
