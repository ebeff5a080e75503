"""`verify`: originals first, then the patched script on every device, then the negative control."""

from __future__ import annotations

import time
from collections.abc import Callable

from mpslint.verify import (
    accelerators,
    changed_lines,
    compiling,
    device_oracle,
    excuses,
    extent,
    interpreter,
    mutant,
    pace,
    precision,
    progress,
    same_precision,
    setting_up,
    side_by_side,
    verdict,
)
from mpslint.verify.launch import Launch
from mpslint.verify.outcome import Outcome, Way, classify
from mpslint.verify.repeats import Repeats
from mpslint.verify.report import (
    FAIL,
    INCONCLUSIVE,
    PASS,
    RAN,
    Report,
    Run,
    covering,
    overall,
)
from mpslint.verify.request import Request
from mpslint.verify.rounding import IN_FULL, Rounded
from mpslint.verify.runs import noted, run_of, skipped, unrun, with_verdict
from mpslint.verify.texts import Texts
from mpslint.verify.verdict import Basis, Judgement
from mpslint.verify.workshop import Files, Workshop

Progress = Callable[[str], None]

_GOOD = (PASS, RAN)
_REFERENCES = ("cuda", "cpu", "mps")
_POINTLESS = {Way.ENVIRONMENT, Way.NO_TORCH, Way.TIMEOUT, Way.RESOURCES, Way.BROKEN}


def verify(request: Request, hears: Progress | None = None) -> Report:
    """Run the script of a request and say what that proved.

    `hears` is told each run as it begins, and a long one from time to time. Raises BadRequest (one
    line) for a request that cannot be started. Nothing outside a temporary folder is written, and
    every process that was started has ended when this returns.
    """
    tell = hears or (lambda _line: None)
    request.checked()
    began = time.monotonic()
    python = interpreter.ask(request.interpreter, request.env)
    if python.torch is None:
        return skipped(request, python.executable)
    with Workshop(request, python) as workshop:
        return _Verification(request, workshop, tell).run(began)


_FEW = 3
"""So many files are named."""


class _Verification:
    def __init__(self, request: Request, workshop: Workshop, tell: Progress) -> None:
        self.request, self.workshop, self.tell = request, workshop, tell
        self.texts = Texts(request)
        self.original: Files = self.texts.original
        self.patched: Files = self.texts.patched
        self.text = self.texts.script
        self.pace = pace.asked_for(request.steps, request.timeout, self.texts.trains())
        self.ran: list[tuple[Launch, bool]] = []
        self.changed = self.texts.changed()
        workshop.watch(self.patched, self.changed)
        self.tried: dict[tuple[str, bool], Launch] = {}
        self.reference: Launch | None = None
        self.refused: tuple[Outcome, ...] = ()
        self.notes: list[str] = []
        if self.texts.beside:
            taken = ", ".join(sorted(self.texts.beside)[:_FEW])
            more = "" if len(self.texts.beside) <= _FEW else ", ..."
            self.notes.append(f"the original ran with what stands beside it: {taken}{more}")
        self._real: list[str] | None = None
        self.ports: list[Launch] = []
        self.repeats = Repeats(self._repeat)
        self.rounded = Rounded(self._otherwise)

    def run(self, began: float) -> Report:
        refused = setting_up.refused(self.request, self.workshop, self.tell)
        refused = refused or compiling.refused(self.request, self.workshop, self.texts)
        if refused is None and self.request.has_original:
            self._find_reference()
            if self.refused and self.refused[0].way is Way.TIMEOUT and self.reference is None:
                refused = Judgement(INCONCLUSIVE, f"the original {self.refused[0].reason}")
        if refused is not None:
            return self._report([unrun(d, refused) for d in self._devices()], began)
        runs, launches = self._run_devices()
        runs = self._real_runs(runs)
        control = ""
        if self.request.negative_control and any(run.verdict in _GOOD for run in runs):
            runs, control = self._control(runs, launches)
        return self._report(runs, began, control)

    def _devices(self) -> list[str]:
        """What was asked for; with an original to compare, the device oracle on simulated cuda
        comes first.
        """
        devices = list(dict.fromkeys(self.request.devices))
        reference = self.reference
        oracle = reference is not None and reference.name == "simulated cuda"
        if oracle and "cuda" not in devices:
            devices.insert(0, "cuda")
        return devices

    def _find_reference(self) -> None:
        """The original's run that all others are held against: one that uses a device, if there is
        one.
        """
        refused = []
        idle: Launch | None = None
        for device in _REFERENCES:
            launch = self._original_on(device)
            outcome = classify(launch)
            if outcome.ok and (launch.device_ops or device == "cpu"):
                self.reference = launch
                break
            if outcome.ok:
                idle = idle or launch
                continue
            refused.append(outcome)
            if outcome.way in _POINTLESS:
                break
        self.reference = self.reference if self._uses_device() else idle or self.reference
        if self.reference is not None:
            self.reference = self._to_its_end(self.reference, self._original_on)
        if self.reference is None and "cuda" in self._real_devices():
            # Where nothing can be simulated there may be the real thing.
            launch = self._original_on("cuda", real=True)
            if classify(launch).ok:
                self.reference = self._to_its_end(launch, self._original_on)
        self.refused = tuple(refused)

    def _to_its_end(self, first: Launch, run: Callable[..., Launch]) -> Launch:
        """The run that all others are held against, and their pace: the first one where it came to
        its end in time, else one that goes through long loops in part.
        """
        asked, tried = self.pace, self.tried
        if (in_part := asked.in_part(first)) is not None:
            self.tell("it did not come to its end in time: once more, with long loops in part")
            self.pace, self.tried = in_part, {}
            again = run(first.device, real=first.kind == "real")
            if classify(again).ok and again.outcome != "stopped":
                first = again
            else:
                self.pace, self.tried = asked, tried
                self.notes.append(f"with long loops gone through in part {extent.why_not(again)}")
        self.pace = self.pace.after(first)
        return first

    def _uses_device(self) -> bool:
        return self.reference is not None and self.reference.device != "cpu"

    def _original_on(self, device: str, again: bool = False, real: bool = False) -> Launch:
        key = (device, real)
        if again or key not in self.tried:
            where = f"{'real' if real else 'simulated'} {device}" if device != "cpu" else "cpu"
            what = f"original on {where}{', once more' if again else ''}"
            with progress.told(what, self.tell):
                launch = self.workshop.launch(self.original, device, real=real, pace=self.pace)
            if again:
                return launch
            self.tried[key] = launch
        return self.tried[key]

    def _patched_on(
        self,
        device: str,
        files: Files,
        what: str,
        real: bool = False,
        workshop: Workshop | None = None,
        limit: float = 0.0,
    ) -> Launch:
        where = f"{'real' if real else 'simulated'} {device}" if device != "cpu" else "cpu"
        limit = limit or pace.limit(self.reference, self.request.timeout)
        room = workshop or self.workshop
        with progress.told(f"{what} on {where}", self.tell):
            return room.launch(files, device, real=real, timeout=limit, pace=self.pace)

    def _script_on(self, device: str, real: bool = False) -> Launch:
        return self._patched_on(device, self.patched, "patched script", real)

    def _run_devices(self) -> tuple[list[Run], dict[str, Launch]]:
        launches: dict[str, Launch] = {}
        devices = self._devices()
        if not self.request.has_original and "cpu" in devices:
            devices.sort(key=lambda device: device != "cpu")  # the others are held against it
        first = self.reference
        if not self.request.has_original:
            first = self._to_its_end(self._script_on(devices[0]), self._script_on)
            launches[devices[0]] = first
        rest = [device for device in devices if device not in launches]
        width = side_by_side.width(len(rest), first, self.request.memory)
        self.ports = side_by_side.launched(
            self.workshop,
            rest,
            lambda room, one: self._patched_on(one, self.patched, "patched script", workshop=room),
            width,
        )
        self.ports = [self._given_time(port) for port in self.ports]
        launches.update(zip(rest, self.ports, strict=True))
        runs = [self._run(launch, self._judge(launch, launches)) for launch in launches.values()]
        return runs, launches

    def _given_time(self, port: Launch) -> Launch:
        """Once more, alone and with all the time that there is, where a port was cut short."""
        timeout = self.request.timeout
        if not self.pace.needs_longer(port, timeout):
            return port
        what = "patched script once more, with more time,"
        return self._patched_on(port.device, self.patched, what, limit=timeout)

    def _judge(
        self, launch: Launch, launches: dict[str, Launch], files: Files | None = None
    ) -> Judgement:
        if self.request.has_original:
            judged = verdict.judge(launch, self._basis(self.reference, files))
        else:
            peer = launches.get("cpu") if launch.device != "cpu" else None
            judged = verdict.judge_alone(launch, peer, self._basis(peer, files))
            if judged.verdict == RAN and launch.device == "cpu" and len(launches) > 1:
                return Judgement(PASS, "ran; the others are held against it", judged.notes)
        wrong = self.texts.wrong_on(launch.device) if judged.verdict in _GOOD else None
        if judged.verdict in _GOOD and (early := device_oracle.early_on(launches, launch)):
            return Judgement(FAIL, early)
        return Judgement(INCONCLUSIVE, wrong, judged.notes) if wrong else judged

    def _basis(self, reference: Launch | None, files: Files | None = None) -> Basis:
        return Basis(
            reference,
            self.refused,
            lambda: self.repeats.of(reference, self.ports),
            self._excuse,
            self.pace,
            precision.is_mixed(self.text),
            self.texts.trains(),
            lambda patched: self.rounded.of(reference, patched),
            lambda run, beyond: same_precision.agrees(
                reference,
                run,
                self.rounded,
                lambda: self._otherwise(run, IN_FULL, self.patched if files is None else files),
                beyond,
            ),
        )

    def _repeat(self, reference: Launch) -> Launch:
        real = reference.kind == "real"
        if self.request.has_original:
            return self._original_on(reference.device, again=True, real=real)
        return self._patched_on(reference.device, self.patched, "script once more", real)

    def _otherwise(self, run: Launch, how: tuple[str, ...], files: Files | None = None) -> Launch:
        """The program of a run, else the reference's, with another rounding or precision."""
        if files is None:  # nothing to lay over the copy is something else
            files = self.original if self.request.has_original else self.patched
        with progress.told(f"with other rounding on {run.name}", self.tell):
            return self.workshop.launch(files, run.device, pace=self.pace, options=how)

    def _excuse(self, patched: Launch) -> str | None:
        plain = (lambda: self._original_on("cpu")) if self.request.has_original else None
        in_full = self.rounded.told_in_full(self.reference, patched)
        return excuses.found(patched, self.reference, self.text, plain, in_full)

    def _run(self, launch: Launch, judged: Judgement) -> Run:
        self.ran.append((launch, judged.verdict == PASS))
        return run_of(launch, judged)

    def _real_runs(self, runs: list[Run]) -> list[Run]:
        """Level 4: the accelerators that this Python can really use."""
        devices = self._real_devices()
        if self.request.real and not devices:
            self.notes.append("no real accelerator in this Python: nothing ran on one")
        asked = {*self._devices(), "cuda" if self.request.has_original else ""}
        for device in devices if self.request.real else [d for d in devices if d in asked]:
            reference = self.reference
            if self.request.has_original and device == "cuda":
                real = self._original_on(device, real=True)
                if classify(real).ok:
                    unlike = accelerators.unlike(real, reference)
                    self.notes += [unlike] if unlike else []
                    reference = real
            launch = self._script_on(device, real=True)
            runs = [*runs, self._run(launch, self._judge_real(launch, reference))]
        return runs

    def _real_devices(self) -> list[str]:
        if self._real is None:
            self._real = accelerators.found(self.request, self.workshop.python)
        return self._real

    def _judge_real(self, launch: Launch, reference: Launch | None) -> Judgement:
        if self.request.has_original:
            return verdict.judge(launch, self._basis(reference))
        return verdict.judge_alone(launch, None, self._basis(None))

    def _control(self, runs: list[Run], launches: dict[str, Launch]) -> tuple[list[Run], str]:
        """A broken copy must not pass; where it does, no pass means anything."""
        passed = [run.device for run in runs if run.verdict in _GOOD and run.device in launches]
        device = next((d for d in ("mps", "cuda", "cpu") if d in passed), None)
        if device is None:
            return runs, ""
        for broken in mutant.candidates(self.text):
            files = {**self.patched, self.request.script: broken.text}
            launch = self._patched_on(device, files, f"negative control ({broken.what})")
            judged = self._judge(launch, {**launches, device: launch}, files)
            if judged.verdict not in _GOOD:
                return runs, f"a copy that {broken.what} was rejected ({judged.reason})"
        reason = "the check could not tell a broken script from a right one"
        weak = [
            with_verdict(run, INCONCLUSIVE, reason) if run.verdict in _GOOD else run for run in runs
        ]
        return weak, "failed: a broken copy passed as well"

    def _report(self, runs: list[Run], began: float, control: str = "") -> Report:
        lines = changed_lines.judged(self.changed, self.ran, self.texts.named())
        left_out = dict.fromkeys(
            [*(text for run in runs for text in run.left_out), *self.workshop.unread]
        )
        judged = overall(accelerators.counted(runs))
        far = extent.of(self.reference or (self.ran[0][0] if self.ran else None))
        verdict_, reason = covering(judged, lines, tuple(left_out), far)
        notes = [*self.notes, *noted(runs, self.workshop.left_out, self.workshop.unread)]
        return Report(
            self.request.script,
            tuple(runs),
            verdict_,
            reason,
            self.workshop.isolated(),
            control,
            tuple(notes),
            time.monotonic() - began,
            lines,
        )
