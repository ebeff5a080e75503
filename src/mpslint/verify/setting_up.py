"""The command that the user wants to be run before anything else."""

from __future__ import annotations

from collections.abc import Callable

from mpslint.verify.outcome import first_sentence
from mpslint.verify.report import INCONCLUSIVE
from mpslint.verify.request import Request
from mpslint.verify.verdict import Judgement
from mpslint.verify.workshop import Workshop


def refused(request: Request, workshop: Workshop, tell: Callable[[str], None]) -> Judgement | None:
    """Run it, where there is one; why nothing else is run, where it failed."""
    if not request.setup:
        return None
    tell(f"set-up: {request.setup}")
    ended = workshop.set_up(request.setup)
    if ended.code == 0:
        return None
    last = (ended.stderr.strip().splitlines() or [ended.stopped or "no message"])[-1]
    return Judgement(
        INCONCLUSIVE, f"the set-up command failed (exit {ended.code}): {first_sentence(last)}"
    )
