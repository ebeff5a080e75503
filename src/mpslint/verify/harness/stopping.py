"""Ending a run early: after N optimizer steps, N forward passes (of a program that does not train),
or S seconds.

The way out is an exception outside the ``Exception`` hierarchy, so that ``except Exception`` in
the script does not swallow it and ``finally`` blocks still run. A script that swallows it anyway
is ended by ``os._exit`` at the next step, or after a grace period.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from .interrupting import Interruption
from .options import Options
from .recorder import RECORDER

GRACE_SECONDS = 10.0
WAITING_SECONDS = 1.0
FORWARDS_PER_STEP = 8


class StopRun(BaseException):
    """Raised inside the script when the harness has seen enough."""


class Stopper:
    """Decides when a run has lasted long enough, and ends it."""

    def __init__(self, options: Options, seconds: float, finish: Callable[[], None]) -> None:
        self.steps = options.steps
        self.forwards = options.forwards or self.steps * FORWARDS_PER_STEP
        self.patience = options.patience
        self._began = 0.0  # when torch was there
        self.seconds = seconds
        self.requested = False
        self._interruption = Interruption(StopRun)
        # A child process that raised would look like a crash to its parent: it leaves at once.
        self.in_child = False
        self.begun_in_child: Callable[[], None] | None = None
        self._finish = finish
        self._closed = False
        self._steps_seen = 0

    def start(self) -> None:
        """Begin to watch the clock, when a time limit is set."""
        if self.seconds > 0:
            self._in_background(self._wait_for_deadline)

    def stop_waiting(self) -> None:
        """Nothing is left to wait for: end the run, as at the deadline but without its patience.

        A main thread that waits outside of Python cannot be told.
        """
        if self._closed:
            return
        self.requested = True
        self._interruption.raise_in_main_thread(WAITING_SECONDS)
        if not self._interruption.claim():
            time.sleep(GRACE_SECONDS)
        self._finish()

    def close(self) -> None:
        """The script has ended: nothing is left to be stopped."""
        self._closed = True
        self._interruption.claim()

    def after_step(self, steps_done: int) -> None:
        """Called after each optimizer step; raises StopRun when it was the last one."""
        self._begin()
        self._steps_seen = steps_done
        enough = bool(self.steps) and steps_done >= self.steps
        if self.requested or enough or self._is_late():
            self._stop()

    def after_forward(self, forwards_done: int) -> None:
        """Called after each outermost module call; counts only where nothing is trained: a roll-out
        comes before the first step.
        """
        self._begin()
        if self.requested:
            self._stop()
        if self._steps_seen or RECORDER.optimizers:
            return
        enough = bool(self.forwards) and forwards_done >= self.forwards
        if enough or self._is_late():
            self._stop()

    def after_backward(self) -> None:
        """Called after each backward pass; raises StopRun when the time is up."""
        self._interruption.after_operation()

    def _is_late(self) -> bool:
        """Past the time after which a run ends where two runs can be compared."""
        if not self.patience:
            return False
        self._began = self._began or time.monotonic()
        return time.monotonic() - self._began > self.patience

    def _begin(self) -> None:
        if self.in_child and self.begun_in_child is not None:
            begun, self.begun_in_child = self.begun_in_child, None
            begun()

    def _stop(self) -> None:
        if self.in_child or not self._interruption.claim():
            # Either the script swallowed the first request, or there is nobody to catch it.
            self._finish()
        if not self.requested:
            self.requested = True
            self._in_background(self._wait_for_grace)
        raise StopRun()

    def _wait_for_deadline(self) -> None:
        # Loading torch does not count, and is never cut short: half a module breaks all the rest.
        left, last = self.seconds, time.monotonic()
        while left > 0 or RECORDER.importing_torch:
            time.sleep(0.05)
            now = time.monotonic()
            if not RECORDER.importing_torch:
                left -= now - last
            last = now
        if self.requested or self._closed:
            return
        self.requested = True
        end = time.monotonic() + GRACE_SECONDS
        self._interruption.raise_in_main_thread(GRACE_SECONDS)
        time.sleep(max(end - time.monotonic(), 0.0))
        self._finish()

    def _wait_for_grace(self) -> None:
        time.sleep(GRACE_SECONDS)
        self._finish()

    @staticmethod
    def _in_background(target: Callable[[], None]) -> None:
        threading.Thread(target=target, name="mpslint-stopper", daemon=True).start()


STOPPER: Stopper | None = None


def install(stopper: Stopper) -> None:
    """Make ``stopper`` the one that the observers report to."""
    global STOPPER
    STOPPER = stopper
    hook = threading.excepthook

    def quiet(args: threading.ExceptHookArgs) -> None:
        if args.exc_type is not StopRun:
            hook(args)

    threading.excepthook = quiet
    os.register_at_fork(after_in_child=_after_fork)
    stopper.start()


def _after_fork() -> None:
    if STOPPER is not None:
        STOPPER.in_child = True
