"""What two runs did differently: the original's run, which is the reference, and the patched
script's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from mpslint.verify import extent, numbers, saved
from mpslint.verify.launch import Launch
from mpslint.verify.pace import Pace

# Other devices decompose a few operators differently.
SAME_DEVICE, OTHER_DEVICE, REAL_DEVICE = numbers.SAME_DEVICE, 1e-5, 2e-2
_LOSSES, _STEPS = 200, 50  # later on, differences of rounding have grown, on another device
UPDATE = 3e-4  # relative difference of the parameters' change in one step, on another device


Reading = Callable[[Launch], Sequence[numbers.Line]]


class Difference(NamedTuple):
    """`numeric`: a difference of values, which an original that is not deterministic explains."""

    numeric: bool
    text: str


def work(reference: Launch, patched: Launch, pace: Pace) -> Difference | None:
    """Less or more training than the original: a hidden early exit shows here."""
    where = f"the original on {reference.name}"
    if unlike := extent.unlike(reference, patched):
        return Difference(False, f"{unlike} ({where})")
    slow = pace.cut_by_clock(reference) or pace.cut_by_clock(patched)
    pairs = [("optimizer steps", reference.steps, patched.steps)]
    pairs.append(("losses", len(reference.value("losses", [])), len(patched.value("losses", []))))
    if not reference.steps:
        pairs.append(("forward passes", reference.forwards, patched.forwards))
    for what, expected, found in pairs:
        if expected != found and not (slow and found > 0):
            return Difference(False, f"{found} {what} instead of {expected} ({where})")
    if (reference.outcome == "stopped") != (patched.outcome == "stopped") and not slow:
        said = {True: "was still running", False: "had ended by itself"}
        return Difference(
            False, f"{where} {said[reference.outcome == 'stopped']}, the patched script was not"
        )
    return None


def device_use(reference: Launch, patched: Launch, mixed_precision: bool = False) -> str | None:
    """Work that stays on the CPU although the original put it on the device.

    mixed_precision: the script uses autocast or a GradScaler; their casts and checks, which only
    run where they are enabled, can be two thirds of all operations.
    """
    if patched.device == "cpu" or reference.device == "cpu":
        return None
    expected = int(reference.value("parameters_on_device", 0))
    found = int(patched.value("parameters_on_device", 0))
    if found < expected:
        return f"{found} of {expected} parameters are on the device"
    if patched.device_ops * (4 if mixed_precision else 2) < reference.device_ops:
        few = f"only {patched.device_ops} operations ran on the device"
        return f"{few}, {reference.device_ops} in the original"
    return None


def values(reference: Launch, patched: Launch, tolerance: float) -> Difference | None:
    """Losses and parameters, step by step."""
    one, two = reference.value("losses", []), patched.value("losses", [])
    far = tolerance > SAME_DEVICE
    length = min(len(one), len(two), *([_LOSSES] if far else []))
    at = numbers.first_difference(one[:length], two[:length], tolerance)
    if at is not None:
        return Difference(True, f"loss {at + 1} is {two[at]:.7g}, the original's {one[at]:.7g}")
    before: tuple[dict[str, float], dict[str, float]] | None = None
    for a, b in zip(
        reference.value("params_digest", []), patched.value("params_digest", []), strict=False
    ):
        if far and a["step"] > _STEPS:
            break
        same = _same_parameters(a, b, tolerance)
        if same and before is not None:
            same = _same_update(before[0], a, before[1], b, tolerance)
        if not same:
            return Difference(True, f"the parameters differ after step {a['step']}")
        before = (a, b)
    return None


def _same_parameters(a: dict[str, float], b: dict[str, float], tolerance: float) -> bool:
    """Terms of both signs cancel in the sum: its rounding errors are of the norm's size."""
    if not numbers.close(a["l2"], b["l2"], tolerance):
        return False
    near = abs(a["sum"] - b["sum"]) <= tolerance * a["l2"]
    return near or numbers.close(a["sum"], b["sum"], tolerance)


def _same_update(
    a0: dict[str, float],
    a1: dict[str, float],
    b0: dict[str, float],
    b1: dict[str, float],
    tol: float,
) -> bool:
    """A learning rate that is off by 1e-3 is lost in the parameters but not in their change."""
    for key in ("l2", "sum"):
        one, two, size = a1[key] - a0[key], b1[key] - b0[key], abs(a1[key])
        noise = size * tol * 1e-2
        if abs(one - two) > max(abs(one) * UPDATE, noise):
            return False
    return True


def printed(
    reference: Launch, patched: Launch, tolerance: float, unstable: Collection[numbers.Spot] = ()
) -> Difference | None:
    """Numbers on standard output, but for those about time, memory and the machine."""
    if reference.ended.cut or patched.ended.cut:
        return None
    one, two = numbers.of(reference.ended.stdout), numbers.of(patched.ended.stdout)
    return _other_line("print", numbers.different_line(one, two, tolerance, unstable))


def logged(
    reference: Launch, patched: Launch, tolerance: float, unstable: Collection[numbers.Spot] = ()
) -> Difference | None:
    """The same for what is logged."""
    one, two = logged_lines(reference), logged_lines(patched)
    return _other_line("log", numbers.different_line(one, two, tolerance, unstable))


def printed_lines(launch: Launch) -> list[numbers.Line]:
    """The numbers that a run printed; none where not all of them were kept."""
    return [] if launch.ended.cut else numbers.of(launch.ended.stdout)


def logged_lines(launch: Launch) -> list[numbers.Line]:
    """The numbers that a run logged."""
    return numbers.of("\n".join(map(str, launch.value("logged", []))))


def loses_numbers(reference: Launch, patched: Launch) -> str | None:
    """What of a run is not finite, where all that the original's is."""
    for name, of in (("prints", printed_lines), ("logs", logged_lines), ("has the loss", _losses)):
        if not _not_finite(of(reference)) and (lost := _not_finite(of(patched))):
            return f"it {name} {lost[0]:g}, where the original's are all finite"
    return None


def _losses(launch: Launch) -> list[numbers.Line]:
    losses = [numbers.Printed(float(loss), 0.0) for loss in launch.value("losses", [])]
    return [tuple(losses)]


def _not_finite(lines: list[numbers.Line]) -> list[float]:
    return [number.value for line in lines for number in line if not math.isfinite(number.value)]


def _other_line(verb: str, found: tuple[numbers.Line, numbers.Line] | None) -> Difference | None:
    if found is None:
        return None
    left, right = shown(*found)
    return Difference(True, f"it {verb}s {right} where the original {verb}s {left}")


def shown(left: numbers.Line, right: numbers.Line) -> tuple[str, str]:
    """The numbers of two lines around the first ones that differ."""
    unequal = (i for i, pair in enumerate(zip(left, right, strict=False)) if pair[0] != pair[1])
    start = max(next(unequal, min(len(left), len(right))) - 1, 0)
    one, two = (
        " ".join(f"{n.value:.12g}" for n in line[start : start + 4]) or "nothing"
        for line in (left, right)
    )
    return one, two


def unstable_lines(reference: Launch, again: Launch) -> set[numbers.Spot]:
    return numbers.unstable(numbers.of(reference.ended.stdout), numbers.of(again.ended.stdout))


def unstable_logs(reference: Launch, again: Launch) -> set[numbers.Spot]:
    return numbers.unstable(logged_lines(reference), logged_lines(again))


def files(
    reference: Launch, patched: Launch, tolerance: float, unstable: saved.Unstable | None = None
) -> Difference | None:
    """Numbers in the files that were written, but for what the original changes each time."""
    found = saved.difference(reference.saved, patched.saved, tolerance, unstable)
    return Difference(True, found) if found else None


def unstable_files(reference: Launch, again: Launch) -> saved.Unstable:
    return saved.unstable_files(reference.saved, again.saved)


def has_numbers(
    reference: Launch,
    lines: Collection[numbers.Spot] = (),
    files: saved.Unstable | None = None,
    logs: Collection[numbers.Spot] = (),
) -> bool:
    """Whether the reference gave any number that another run can be held against, but for these
    printed ones and those in these files.
    """
    if reference.value("losses", []) or reference.value("params_digest", []):
        return True
    if numbers.spared(logged_lines(reference), logs):
        return True
    return numbers.spared(printed_lines(reference), lines) or saved.has_numbers(
        reference.saved, files
    )


def amount(reference: Launch) -> str:
    """What there was to compare, counted, in words."""
    lines = printed_lines(reference)
    counts = {
        "loss": len(reference.value("losses", [])),
        "state of the weights": len(reference.value("params_digest", [])),
        "printed number": sum(map(len, lines)),
        "logged number": sum(map(len, logged_lines(reference))),
        "file": sum(saved.has_numbers({path: file}) for path, file in reference.saved.items()),
    }
    many = {"loss": "losses", "state of the weights": "states of the weights"}
    said = [
        f"{count} {what if count == 1 else many.get(what, f'{what}s')}"
        for what, count in counts.items()
        if count
    ]
    return ", ".join(said)
