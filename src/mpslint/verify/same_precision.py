"""A port that uses autocast as the original does, on another device: it takes the lower precision
for other operators there, so that its numbers are not the original's.

Two things are asked instead: without autocast in both the numbers are the same, and with it they
are no further from the original's than autocast moves those. A GradScaler is not judged so:
without autocast it is off, and what is done with it would not be seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mpslint.verify.launch import Launch
from mpslint.verify.outcome import classify
from mpslint.verify.rounding import SCALER, Margins, Rounded, lowered

Beyond = Callable[[Margins, Launch], str | None]


def agrees(
    reference: Launch | None,
    patched: Launch,
    rounded: Rounded,
    in_full: Callable[[], Launch],
    beyond: Beyond,
) -> str | None:
    """How far the numbers agree, in words; None where they do not, or where this does not apply.

    in_full: runs the port on its device without autocast.
    """
    if reference is None:
        return None
    types = lowered(patched)
    if "real" in (reference.kind, patched.kind) or not types or not types <= lowered(reference):
        return None
    if SCALER in lowered(reference):
        return None
    around = rounded.of_autocast(reference)
    if around is None or beyond(around, patched) is not None:
        return None
    plain = in_full()
    if not classify(plain).ok or plain.outcome != patched.outcome:
        return None
    allowed: Iterable[Margins] = rounded.in_full(reference)
    found = next((one for one in allowed if beyond(one, plain) is None), None)
    if found is None:
        return None
    return f"{found.said}; with it ({', '.join(sorted(types))}) as near as it leaves them"
