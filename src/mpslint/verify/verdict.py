"""From what happened to a verdict: no process is started here, so every rule can be tested as a
sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from mpslint.verify import compare, device_oracle, placed, spread
from mpslint.verify.launch import Launch
from mpslint.verify.numbers import Spot
from mpslint.verify.outcome import Outcome, Way, classify
from mpslint.verify.pace import Pace
from mpslint.verify.precision import narrower
from mpslint.verify.report import FAIL, INCONCLUSIVE, PASS, RAN
from mpslint.verify.rounding import Margins, does_without
from mpslint.verify.same_precision import Beyond
from mpslint.verify.saved import Unstable, uncomparable

_QUICK = 0.25  # an original that needs less than this share of the limit makes a timeout a failure


class Judgement(NamedTuple):
    """left_out: what is not part of a comparison that was made."""

    verdict: str
    reason: str
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass
class _Seen:
    """What a comparison has come upon so far; `not_compared`: why no number could
    be; `within`: how much they may differ, where that is more than the usual."""

    notes: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    not_compared: str = ""
    within: str = ""


class Stability(NamedTuple):
    """How much further runs of the reference repeat the first: its values, and the lines that it
    prints and the files that it writes anew. runs: all of them.
    """

    values: bool
    unstable_lines: Collection[Spot]
    unstable_files: Unstable
    unstable_logs: Collection[Spot] = ()
    runs: tuple[Launch, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether anything does."""
        changing = (self.unstable_lines, self.unstable_files, self.unstable_logs)
        return not self.values or any(changing)


class Basis(NamedTuple):
    """What a run of the patched script is held against.

    reference: the original's run (None: it could not run, `refused` says why);
    stability: runs the reference again, called only when numbers differ;
    margins: how far rounding moves the reference's numbers, asked for only when they differ;
    lowered: whether they agree but for autocast, which both use;
    excuse: why numbers may differ on another device than the reference's (None: they may not);
    pace: where the harness ends a run;
    mixed_precision: whether the script uses autocast or a GradScaler;
    trains: whether its text holds a training step.
    """

    reference: Launch | None
    refused: tuple[Outcome, ...]
    stability: Callable[[], Stability]
    excuse: Callable[[Launch], str | None]
    pace: Pace
    mixed_precision: bool = False
    trains: bool = False
    margins: Callable[[Launch], Iterable[Margins]] = lambda _patched: ()
    lowered: Callable[[Launch, Beyond], str | None] = lambda _patched, _beyond: None


_UNDECIDED = {
    Way.NO_TORCH, Way.UNAVAILABLE, Way.LIMIT, Way.SIGNAL, Way.RESOURCES, Way.BROKEN,
}  # fmt: skip


_NOTHING_SEEN = "the time limit came before any training step or forward pass"


def _cut_short(launch: Launch, pace: Pace) -> bool:
    """Ended by the clock with nothing done: the same text would pass had it hung on purpose."""
    return pace.cut_by_clock(launch) and not launch.steps and not launch.forwards


def _never_trained(launch: Launch, basis: Basis) -> bool:
    """The program trains, by its text or by the optimizer that it made, and the run saw none of it:
    it ended within a first roll-out, or took another way.
    """
    trains = basis.trains or bool(launch.value("optimizers", 0))
    return trains and not launch.steps and not launch.value("losses", [])


_NO_STEP = "the script holds a training step, but none ran"


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
    if outcome.way is Way.DEVICE and _is_the_ports(outcome, refused):
        return Judgement(FAIL, outcome.reason)
    if not outcome.ok and (why is None or not outcome.is_like(why)):
        said += f"; the patched script: {outcome.reason}"
    return Judgement(INCONCLUSIVE, said)


def _is_the_ports(outcome: Outcome, refused: tuple[Outcome, ...]) -> bool:
    """Whether a device error is one that a port is there to mend: where the original met the like
    for want of CUDA alone, some of that is still left. What it meets with CUDA as well is its own,
    and so is what the program itself says to a machine without.
    """
    like = [other for other in refused if outcome.is_like(other)]
    return not like or not (outcome.own or any(other.device == "cuda" for other in like))


def _compare(patched: Launch, reference: Launch, basis: Basis) -> Judgement:
    if patched.device != "cpu" and patched.device_ops == 0:
        return Judgement(INCONCLUSIVE, f"ran, but never used the device ({patched.name})")
    if basis.pace.cut_by_clock(patched) and not patched.steps and reference.steps:
        return Judgement(INCONCLUSIVE, "the time limit came before the first training step")
    if _cut_short(patched, basis.pace):
        return Judgement(INCONCLUSIVE, _NOTHING_SEEN)
    if difference := compare.work(reference, patched, basis.pace):
        return Judgement(FAIL, difference.text)
    if _never_trained(patched, basis):
        return Judgement(INCONCLUSIVE, _NO_STEP)
    if basis.pace.cut_by_clock(patched) and not basis.pace.cut_by_clock(reference):
        return Judgement(INCONCLUSIVE, _out_of_time(patched, reference))
    seen = _Seen()
    if patched.device != "cpu" and (behind := placed.left_behind(reference, patched)):
        said, share = behind
        if not placed.is_little(share):
            return Judgement(INCONCLUSIVE, said)
        seen.notes.append(said)
    if partial := compare.device_use(reference, patched, basis.mixed_precision):
        return Judgement(INCONCLUSIVE, partial)
    same_device = (patched.device, patched.kind) == (reference.device, reference.kind)
    if same_device and patched.device == "cuda":
        wrong, added = device_oracle.unlike(reference, patched)
        if wrong:
            return Judgement(FAIL, f"on a CUDA machine {wrong}")
        seen.notes += [added] if added else []
    if early := device_oracle.reads_early(reference, patched):
        return Judgement(FAIL, early)
    decided = _numbers(patched, reference, basis, same_device, seen)
    if not decided and not seen.not_compared and (lost := narrower(reference, patched)):
        seen.not_compared = f"no proof that the numbers are the same: {lost}"
    decided = decided or _printed_too_much(patched, reference, seen)
    cut = basis.pace.cut_by_clock(reference) or basis.pace.cut_by_clock(patched)
    on_cuda = same_device and (patched.device, patched.kind) == ("cuda", "simulated")
    if on_cuda and not decided and not cut:
        drawn = device_oracle.draws_elsewhere(reference, patched)
        decided = Judgement(INCONCLUSIVE, f"on a CUDA machine it {drawn}") if drawn else None
    return decided or _what_agreed(reference, patched, seen)


def _out_of_time(patched: Launch, reference: Launch) -> str:
    """The original came further: what a run did not come to cannot be held against it."""
    steps, forwards = f"{patched.steps} optimizer steps", f"{patched.forwards} forward passes"
    far, made = (steps, reference.steps) if patched.steps else (forwards, reference.forwards)
    said = f"the time limit came after {far}; the original on {reference.name} made {made}"
    wrong = compare.values(reference, patched, compare.OTHER_DEVICE)
    return f"{said}; by then {wrong.text}" if wrong else said


def _printed_too_much(patched: Launch, reference: Launch, seen: _Seen) -> Judgement | None:
    """Of long outputs the middle is not kept: only that they are the same can be said of it."""
    one, two = reference.ended, patched.ended
    if not (one.cut or two.cut) or one.digest == two.digest:
        return None
    reason = "printed numbers were not compared: there is more output than is kept (2 MB)"
    return Judgement(INCONCLUSIVE, reason, tuple(seen.notes))


def _numbers(
    patched: Launch, reference: Launch, basis: Basis, same_device: bool, seen: _Seen
) -> Judgement | None:
    seen.left_out += uncomparable(reference.saved, patched.saved)
    tolerance = _tolerance(patched, same_device)
    on_paper = 0.0 if same_device and patched.kind != "real" else tolerance
    wrong = compare.values(reference, patched, tolerance)
    wrong = wrong or compare.printed(reference, patched, on_paper)
    wrong = wrong or compare.logged(reference, patched, on_paper)
    wrong = wrong or compare.files(reference, patched, on_paper)
    if wrong is None:
        if not compare.has_numbers(reference):
            seen.not_compared = "neither gave numbers to compare"
        return None
    if patched.kind != "real" and does_without(reference, patched):
        # The run without autocast tells by itself where the numbers are the very same.
        exact = next(iter(basis.margins(patched)), None)
        if exact is not None and exact.beyond(patched, tolerance) is None:
            seen.within = exact.said
            return None
    stability = basis.stability()
    if not stability.values:
        if far := spread.outside(stability.runs, patched):
            said = "the original's numbers change from run to run, but not so far"
            return Judgement(INCONCLUSIVE, f"{far}; {said}", tuple(seen.notes))
        seen.not_compared = _changes(stability)
        return None
    lines, files = stability.unstable_lines, stability.unstable_files
    logs = stability.unstable_logs
    wrong = compare.values(reference, patched, tolerance)
    wrong = wrong or compare.printed(reference, patched, on_paper, lines)
    wrong = wrong or compare.logged(reference, patched, on_paper, logs)
    wrong = wrong or compare.files(reference, patched, on_paper, files)
    if wrong is None:
        seen.left_out += _changing(stability)
        if not compare.has_numbers(reference, lines, files, logs):
            seen.not_compared = "numbers not compared: the original's own change from run to run"
        return None

    def beyond(allowed: Margins, run: Launch) -> str | None:
        return allowed.beyond(run, tolerance, lines, logs, files)

    said = ""
    for allowed in basis.margins(patched) if patched.kind != "real" else ():
        far = beyond(allowed, patched)
        if far is None:
            seen.left_out += _changing(stability)
            seen.within = allowed.said
            return None
        said = said or far
    if same_device:
        return Judgement(FAIL, said or wrong.text)
    # No other order of sums and no other draw makes NaN of a program that has none.
    if lost := compare.loses_numbers(reference, patched):
        return Judgement(FAIL, lost)
    if within := basis.lowered(patched, beyond):
        seen.left_out += _changing(stability)
        seen.within = within
        return None
    if excuse := basis.excuse(patched):
        seen.not_compared = f"numbers not compared: {excuse}"
        return None
    return Judgement(
        INCONCLUSIVE,
        f"{said or wrong.text} on {reference.name}; the cause was not found",
        tuple(seen.notes),
    )


def _changes(stability: Stability) -> str:
    said = "numbers not compared: the original's own change from run to run"
    if len(stability.runs) < 2:
        return said
    return f"{said}; on the average they are near those of {len(stability.runs)} runs of it"


def _changing(stability: Stability) -> list[str]:
    """What the original makes anew each time, in words."""
    number = len({index for index, _ in stability.unstable_lines})
    lines = f"numbers on {number} printed line{'s' if number > 1 else ''}"
    said = [f"{lines} that the original changes each time"] if number else []
    if stability.unstable_logs:
        said.append("logged numbers that the original changes each time")
    for name, spots in sorted(stability.unstable_files.items()):
        what = name if spots is None else f"numbers in {name}"
        said.append(f"{what} (changes each time)")
    return said


def _tolerance(patched: Launch, same_device: bool) -> float:
    if patched.kind == "real":
        return compare.REAL_DEVICE
    return compare.SAME_DEVICE if same_device else compare.OTHER_DEVICE


def _what_agreed(reference: Launch, patched: Launch, seen: _Seen) -> Judgement:
    done, notes = _done(patched), tuple(seen.notes)
    if seen.not_compared:
        reason = f"{done}, as the original on {reference.name}; {seen.not_compared}"
        return Judgement(RAN, reason, notes)
    but = f", but for {', '.join(seen.left_out)}" if seen.left_out else ""
    compared = compare.amount(reference)
    reason = (
        f"{done}, same numbers as the original on {reference.name} ({compared}){seen.within}{but}"
    )
    return Judgement(PASS, reason, notes, tuple(seen.left_out))


def judge_alone(patched: Launch, peer: Launch | None, basis: Basis) -> Judgement:
    """A script without an original: does it run, use the device, and give the plain CPU's numbers
    (`peer`)?
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
    if _cut_short(patched, basis.pace):
        return Judgement(INCONCLUSIVE, _NOTHING_SEEN)
    if _never_trained(patched, basis):
        return Judgement(INCONCLUSIVE, _NO_STEP)
    if peer is not None and peer is not patched and classify(peer).ok:
        compared = _compare(patched, peer, basis)
        return compared._replace(reason=compared.reason.replace("the original", "the same script"))
    return Judgement(RAN, f"{_done(patched)}; there was nothing to compare with")


def _done(patched: Launch) -> str:
    """How far the run went, in words."""
    far = f"{patched.steps} optimizer steps" if patched.steps else ""
    if patched.forwards and not far:
        far = f"{patched.forwards} forward passes"
    if patched.outcome == "stopped":
        return far or "was ended before any step"
    return f"{far}, to its end" if far else "ran to its end"
