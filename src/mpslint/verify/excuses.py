"""Why numbers may differ from the reference's on another device although the rewrite is right."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import fmean

from mpslint.verify import compare, numbers, precision
from mpslint.verify.launch import Launch
from mpslint.verify.outcome import classify


def found(
    patched: Launch,
    reference: Launch | None,
    text: bytes,
    on_cpu: Callable[[], Launch] | None,
    in_full: bool = False,
) -> str | None:
    """text: of the script; on_cpu: runs the original there, if there is one; in_full: the numbers
    are not those of the original without autocast either, which the patched script does without.
    """
    if "real" in (patched.kind, reference.kind if reference else ""):
        return "a real device draws other random numbers and rounds otherwise"
    choice = precision.chosen(text, but_for_autocast=in_full)
    if choice and _may_differ(choice, patched, reference):
        return f"the script chooses its precision ({choice.word})"
    if reference is None or on_cpu is None or reference.device == "cpu":
        return None
    plain = on_cpu()
    if not classify(plain).ok:
        return None
    if patched.device == "cpu":
        same = compare.values(plain, patched, compare.SAME_DEVICE) is None
        return "they are those of the original on the CPU" if same else None
    differ = compare.values(reference, plain, compare.OTHER_DEVICE)
    return "the original's differ between cuda and cpu, too" if differ else None


def _may_differ(choice: precision.Choice, patched: Launch, reference: Launch | None) -> bool:
    if choice.high and patched.device != "mps":  # all others have float64
        return False
    return reference is None or not _far(reference, patched, choice.high)


_TENTH, _HALF = 0.1, 0.5


def _far(reference: Launch, patched: Launch, high: bool) -> bool:
    """By more than a precision explains. float32 in place of float64 moves no loss and no number
    that is told so much; less than float32 may lead a training elsewhere, but not make its losses
    others by their size. A training that it led nowhere else it does not make tell other numbers.
    """
    one, two = (list(map(float, run.value("losses", []))) for run in (reference, patched))
    if not high:
        if not one or not two or not _alike(fmean(one), fmean(two)):
            return bool(one and two)
        if compare.values(reference, patched, compare.OTHER_DEVICE) is not None:
            return False
    elif numbers.first_difference(one, two, _TENTH) is not None:
        return True
    told = (compare.printed_lines, compare.logged_lines)
    return any(_far_lines(lines(reference), lines(patched)) for lines in told)


def _far_lines(one: Sequence[numbers.Line], two: Sequence[numbers.Line]) -> bool:
    """What is next to nothing beside the other numbers is the rest of a difference."""
    if [len(line) for line in one] != [len(line) for line in two]:
        return True
    pairs = [
        (a.value, b.value)
        for left, right in zip(one, two, strict=True)
        for a, b in zip(left, right, strict=True)
    ]
    sizes = [abs(a) for a, _ in pairs if math.isfinite(a)]
    least = _TENTH * fmean(sizes) if sizes else 0.0
    return any(
        not numbers.close(a, b, _TENTH) and not abs(a - b) <= _TENTH * least for a, b in pairs
    )


def _alike(one: float, two: float) -> bool:
    """Both may be no number."""
    return numbers.close(one, two, _HALF)
