"""From what happened to a verdict: no process is started here, so every rule can be tested as a
sentence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mpslint.verify import compare
from mpslint.verify.launch import Launch
from mpslint.verify.outcome import Outcome, Way, classify
from mpslint.verify.report import FAIL, INCONCLUSIVE, PASS

_QUICK = 0.25  # an original that needs less than this share of the limit makes a timeout a failure


class Judgement(NamedTuple):
    verdict: str
    reason: str
    notes: tuple[str, ...] = ()


class Stability(NamedTuple):
    """How much a second run of the reference repeats the first: its values, and the lines that it
    prints and the files that it writes anew.
    """

    values: bool
    unstable_lines: set[int]
    unstable_files: set[str]


class Basis(NamedTuple):
    """What a run of the patched script is held against.

    reference: the original's run (None: it could not run, `refused` says why);
    stability: runs the reference again, called only when numbers differ;
    excuse: why numbers may differ on another device than the reference's (None: they may not);
    steps: after how many optimizer steps the harness ends a run;
    mixed_precision: whether the script uses autocast or a GradScaler.
    """

    reference: Launch | None
    refused: tuple[Outcome, ...]
    stability: Callable[[], Stability]
    excuse: Callable[[Launch], str | None]
    steps: int
    mixed_precision: bool = False


_UNDECIDED = {
    Way.NO_TORCH, Way.UNAVAILABLE, Way.LIMIT, Way.SIGNAL, Way.RESOURCES, Way.BROKEN,
}  # fmt: skip


_NOTHING_SEEN = "the time limit came before any training step or forward pass"


def _cut_short(launch: Launch, steps: int) -> bool:
    """Ended by the clock with nothing done: the same text would pass had it hung on purpose."""
    return compare.stopped_by_clock(launch, steps) and not launch.steps and not launch.forwards


def judge(patched: Launch, basis: Basis) -> Judgement:
    """The patched script's run on one device against the original's run."""
    outcome = classify(patched)
    if outcome.way in _UNDECIDED:
        return Judgement(INCONCLUSIVE, outcome.reason)
    reference = basis.reference
    if reference is None:
        return _without_reference(outcome, basis.refused)
    if outcome.way is Way.TIMEOUT:
        quick = reference.seconds < _QUICK * patched.limit
        against = f"; the original ended after {reference.seconds:.0f} s"
        return Judgement(FAIL if quick else INCONCLUSIVE, outcome.reason + against)
    if not outcome.ok:
        return Judgement(FAIL, f"{outcome.reason} (the original ran on {reference.name})")
    return _compare(patched, reference, basis)


def _without_reference(outcome: Outcome, refused: tuple[Outcome, ...]) -> Judgement:
    why = next((o for o in refused if o.way is not Way.DEVICE), refused[0] if refused else None)
    said = (
        f"the original cannot run here: {why.reason}" if why else "there is no run to compare with"
    )
    new = not any(outcome.is_like(other) for other in refused)
    if outcome.way is Way.DEVICE and new:
        return Judgement(FAIL, outcome.reason)
    if not outcome.ok and new:
        said += f"; the patched script: {outcome.reason}"
    return Judgement(INCONCLUSIVE, said)


def _compare(patched: Launch, reference: Launch, basis: Basis) -> Judgement:
    if patched.device != "cpu" and patched.device_ops == 0:
        return Judgement(INCONCLUSIVE, f"ran, but never used the device ({patched.name})")
    if compare.stopped_by_clock(patched, basis.steps) and not patched.steps and reference.steps:
        return Judgement(INCONCLUSIVE, "the time limit came before the first training step")
    if _cut_short(patched, basis.steps):
        return Judgement(INCONCLUSIVE, _NOTHING_SEEN)
    if difference := compare.work(reference, patched, basis.steps):
        return Judgement(FAIL, difference.text)
    if partial := compare.device_use(reference, patched, basis.mixed_precision):
        return Judgement(INCONCLUSIVE, partial)
    notes: list[str] = []
    same_device = (patched.device, patched.kind) == (reference.device, reference.kind)
    if same_device and patched.device == "cuda":
        wrong, added = compare.device_calls(reference, patched)
        if wrong:
            return Judgement(FAIL, f"on a CUDA machine {wrong.text}")
        notes += [added] if added else []
    decided = _numbers(patched, reference, basis, same_device, notes)
    decided = decided or _printed_too_much(patched, reference, notes)
    return decided or Judgement(PASS, _what_agreed(reference, patched, notes), tuple(notes))


def _printed_too_much(patched: Launch, reference: Launch, notes: list[str]) -> Judgement | None:
    """Of long outputs the middle is not kept: only that they are the same can be said of it."""
    one, two = reference.ended, patched.ended
    if not (one.cut or two.cut) or one.digest == two.digest:
        return None
    reason = "printed numbers were not compared: there is more output than is kept (2 MB)"
    return Judgement(INCONCLUSIVE, reason, tuple(notes))


def _numbers(
    patched: Launch, reference: Launch, basis: Basis, same_device: bool, notes: list[str]
) -> Judgement | None:
    tolerance = _tolerance(patched, same_device)
    on_paper = 0.0 if same_device and patched.kind != "real" else tolerance
    wrong = compare.values(reference, patched, tolerance)
    wrong = wrong or compare.printed(reference, patched, on_paper)
    wrong = wrong or compare.files(reference, patched, on_paper)
    if wrong is None:
        return None
    stability = basis.stability()
    if not stability.values:
        notes.append("numbers not compared: the original's own change from run to run")
        return None
    wrong = compare.values(reference, patched, tolerance)
    wrong = wrong or compare.printed(reference, patched, on_paper, stability.unstable_lines)
    wrong = wrong or compare.files(reference, patched, on_paper, stability.unstable_files)
    if wrong is None:
        return None
    if same_device:
        return Judgement(FAIL, wrong.text)
    if excuse := basis.excuse(patched):
        notes.append(f"numbers not compared on {patched.name}: {excuse}")
        return None
    return Judgement(
        INCONCLUSIVE, f"{wrong.text} on {reference.name}; the cause was not found", tuple(notes)
    )


def _tolerance(patched: Launch, same_device: bool) -> float:
    if patched.kind == "real":
        return compare.REAL_DEVICE
    return compare.SAME_DEVICE if same_device else compare.OTHER_DEVICE


def _what_agreed(reference: Launch, patched: Launch, notes: list[str]) -> str:
    if patched.steps:
        done = f"{patched.steps} optimizer steps"
    elif patched.forwards:
        done = f"{patched.forwards} forward passes"
    else:
        done = "ran to its end"
    if any(note.startswith("numbers not compared") for note in notes):
        return f"{done}, as the original on {reference.name}"
    if not compare.has_numbers(reference):
        return f"{done}, as the original on {reference.name}; neither gave numbers to compare"
    return f"{done}, same numbers as the original on {reference.name}"


def judge_alone(patched: Launch, peer: Launch | None, basis: Basis, trains: bool) -> Judgement:
    """A script without an original: does it run, use the device, and give the plain CPU's numbers
    (`peer`)?

    `trains`: its text holds a training step.
    """
    outcome = classify(patched)
    if outcome.way in _UNDECIDED or outcome.way in (Way.ENVIRONMENT, Way.TIMEOUT):
        return Judgement(INCONCLUSIVE, outcome.reason)
    if outcome.way is Way.ERROR and patched.device == "cpu":
        return Judgement(INCONCLUSIVE, f"{outcome.reason}; this has nothing to do with the device")
    if outcome.way is Way.ERROR and peer is not None and classify(peer).is_like(outcome):
        return Judgement(INCONCLUSIVE, f"{outcome.reason}; the same on the plain CPU")
    if not outcome.ok:
        return Judgement(FAIL, outcome.reason)
    if patched.device != "cpu" and patched.device_ops == 0:
        return Judgement(INCONCLUSIVE, f"ran, but never used the device ({patched.name})")
    if _cut_short(patched, basis.steps):
        return Judgement(INCONCLUSIVE, _NOTHING_SEEN)
    if trains and not patched.steps and not patched.value("losses", []):
        return Judgement(INCONCLUSIVE, "the script holds a training step, but none ran")
    if peer is not None and peer is not patched and classify(peer).ok:
        compared = _compare(patched, peer, basis)
        return compared._replace(reason=compared.reason.replace("the original", "the same script"))
    return Judgement(PASS, _alone(patched))


def _alone(patched: Launch) -> str:
    if patched.steps:
        return f"{patched.steps} optimizer steps"
    return f"{patched.forwards} forward passes" if patched.forwards else "ran to its end"
