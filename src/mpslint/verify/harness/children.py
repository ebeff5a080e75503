"""What child processes of a run leave for the process that was launched, and how all of them end.

A worker that has done its steps leaves with exit code 0, which its parent takes for a worker that
is done. A parent that waits for more than that, for a result on a queue, would wait for ever: once
a worker was stopped and no process of the run does anything any more, the run has been stopped. The
same holds for a worker that failed: then the run has failed.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import json
import os
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from .options import Options
from .probes import lines_reached
from .recorder import RECORDER
from .report import write_json

QUIET_SECONDS = 4.0
_BEAT = 0.5
_AT_WORK = 0.05  # share of a beat that a process which does something spends on a processor
_PATIENCE = 2.0

# prefixes of the files in the folder, each with a process number behind it; the last has none
_RECORD, _STOPPED, _FAILED, _WORKER, _END = "child-", "stopped-", "failed-", "worker-", "end"


def make_folder(options: Options) -> str | None:
    """A folder in which child processes leave what they did; removed after the merge."""
    return tempfile.mkdtemp(prefix="mpslint-children-") if options.reports else None


class _Activity:
    """Whether this process did anything since the last time that it was asked.

    On a machine that has more to do than processors, one that works waits for its turn most of the
    time: that is no rest.
    """

    def __init__(self) -> None:
        self._last = self._now()

    def since_last_asked(self) -> bool:
        before, self._last = self._last, self._now()
        spent, waited, passed = (new - old for old, new in zip(before, self._last, strict=True))
        could_run = max(passed - waited, passed * _AT_WORK, 1e-3)
        return spent / could_run > _AT_WORK

    def _now(self) -> tuple[float, float, float]:
        return time.process_time(), _waited_for_a_processor(), time.monotonic()


def _waited_for_a_processor() -> float:
    """Seconds that this process's threads were ready to run and did not, where the system says."""
    waited = 0.0
    for path in glob.glob("/proc/self/task/*/schedstat"):
        with contextlib.suppress(OSError, ValueError, IndexError), open(path) as stream:
            waited += int(stream.read().split()[1]) * 1e-9
    return waited


def _touch(path: str) -> None:
    # Written, since a sandbox may not let anybody set times.
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(".")


def announce(options: Options, leave: Callable[[], None]) -> None:
    """This child has begun to compute. It says so as long as it goes on, and ends when told to."""
    folder = options.children
    if not folder or not os.path.isdir(folder):
        return
    marker, end = os.path.join(folder, f"{_WORKER}{os.getpid()}"), os.path.join(folder, _END)

    def beat() -> None:
        activity = _Activity()
        while os.path.exists(marker):
            time.sleep(_BEAT)
            if os.path.exists(end):
                leave()
            if activity.since_last_asked() and os.path.exists(marker):
                _touch(marker)

    _touch(marker)
    threading.Thread(target=beat, name="mpslint-worker", daemon=True).start()


def say_stopped(options: Options) -> None:
    """This child was ended by the harness, not by itself."""
    if options.children and os.path.isdir(options.children):
        _touch(os.path.join(options.children, f"{_STOPPED}{os.getpid()}"))


def say_failed(options: Options, code: int) -> None:
    """This child ends with an exit code that says so.

    Its end may take a while yet. The system takes the lock back when the process is gone, even if
    its parent has not asked for it.
    """
    if code and options.children and os.path.isdir(options.children):
        path = os.path.join(options.children, f"{_FAILED}{os.getpid()}")
        fcntl.flock(os.open(path, os.O_CREAT | os.O_RDWR, 0o600), fcntl.LOCK_EX)


def watch_exit_code(options: Options) -> None:
    """In a process that multiprocessing has spawned: say so where its work fails."""
    if not any("multiprocessing" in argument for argument in sys.orig_argv):
        return
    from multiprocessing.process import BaseProcess

    process: Any = BaseProcess
    run = process._bootstrap

    def watched(self: Any, *args: Any, **kwargs: Any) -> int:
        code: int = run(self, *args, **kwargs)
        say_failed(options, code)
        return code

    process._bootstrap = watched


def any_stopped(options: Options) -> bool:
    """Whether a child of this run was ended by the harness."""
    return bool(_names(options.children, _STOPPED))


def _names(folder: str | None, prefix: str) -> list[str]:
    try:
        return [name for name in os.listdir(folder or "") if name.startswith(prefix)]
    except OSError:
        return []


def _any_failed(folder: str) -> bool:
    """Whether a child has failed and is gone."""
    for name in _names(folder, _FAILED):
        with contextlib.suppress(OSError):
            handle = os.open(os.path.join(folder, name), os.O_RDWR)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            finally:
                os.close(handle)
    return False


def _last_sign_of_life(folder: str) -> float:
    """When a worker that is still there last did something, as ``time.time`` counts."""
    last = 0.0
    for name in _names(folder, _WORKER):
        with contextlib.suppress(OSError):
            os.kill(int(name[len(_WORKER) :]), 0)
            last = max(last, os.stat(os.path.join(folder, name)).st_mtime)
    return last


def watch(options: Options, stop: Callable[[], None], fail: Callable[[], None]) -> None:
    """In the launched process: when nobody works any more, ``stop`` where a worker was stopped, and
    ``fail`` where one only failed.
    """
    folder = options.children
    if not folder:
        return

    def wait() -> None:
        activity = _Activity()
        quiet_since = time.time()
        while os.path.isdir(folder):
            time.sleep(_BEAT)
            ended = any_stopped(options) or _any_failed(folder)
            if activity.since_last_asked() or not ended:
                quiet_since = time.time()
            if time.time() - max(quiet_since, _last_sign_of_life(folder)) > QUIET_SECONDS:
                break
        else:
            return
        _touch(os.path.join(folder, _END))
        end = time.monotonic() + _PATIENCE
        while _last_sign_of_life(folder) and time.monotonic() < end:
            time.sleep(_BEAT / 5)
        (stop if any_stopped(options) else fail)()

    threading.Thread(target=wait, name="mpslint-children", daemon=True).start()


def leave_record(options: Options) -> None:
    """Write this child's counters where the launching process will find them."""
    if not options.children or not os.path.isdir(options.children):
        return
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(options.children, f"{_WORKER}{os.getpid()}"))
    recorder = RECORDER
    lines = lines_reached()
    if not (recorder.ops or recorder.steps or recorder.limits or recorder.losses or lines):
        return
    path = os.path.join(options.children, f"{_RECORD}{os.getpid()}.json")
    if os.path.exists(path):
        return
    write_json(
        path,
        {
            "ops": recorder.ops,
            "steps": recorder.steps,
            "forwards": recorder.forwards,
            "switches": recorder.switches,
            "parameters": recorder.parameters_on_device,
            "syncs": [[*key, count] for key, count in recorder.syncs.items()],
            "copies": [[*key, *value] for key, value in recorder.copies.items()],
            "fallbacks": [[*key, count] for key, count in recorder.fallbacks.items()],
            "limits": dict(recorder.limits),
            "notes": dict(recorder.notes),
            "optimizers": recorder.optimizers,
            "lines": lines,
            "in_part": recorder.in_part,
            "losses": recorder.losses,
            "digests": recorder.digests,
        },
    )


def merge(options: Options) -> None:
    """Add what child processes recorded to this process's counters."""
    folder = options.children
    if not folder or not os.path.isdir(folder):
        return
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if name.startswith(_RECORD):
            with open(path, encoding="utf-8") as stream:
                _merge(json.load(stream))
        if name.startswith((_RECORD, _STOPPED, _FAILED, _WORKER, _END)):
            os.unlink(path)
    # A child may still be writing; then the folder stays, in the run's own TMPDIR.
    with contextlib.suppress(OSError):
        os.rmdir(folder)


def _merge(child: Any) -> None:
    recorder = RECORDER
    recorder.lines_of_children.extend(child["lines"])
    for what, kept, total, *place in child["in_part"]:
        recorder.went_in_part(what, kept, total, (place[0], place[1]))
    recorder.optimizers += child["optimizers"]
    recorder._more += child["ops"]
    recorder.steps += child["steps"]
    recorder.forwards += child["forwards"]
    recorder.switches += child["switches"]
    recorder.parameters_on_device = max(recorder.parameters_on_device, child["parameters"])
    for *key, count in child["syncs"]:
        recorder.syncs[tuple(key)] += count
    for file, line, direction, count, size in child["copies"]:
        row = recorder.copies.setdefault((file, line, direction), [0, 0])
        row[0] += count
        row[1] += size
    for *key, count in child["fallbacks"]:
        recorder.fallbacks[tuple(key)] += count
    recorder.limits.update(Counter(child["limits"]))
    recorder.notes.update(Counter(child["notes"]))
    recorder.losses.extend(child["losses"])
    recorder.digests.extend(child["digests"])
    came = recorder.from_children
    came["losses"] += len(child["losses"])
    came["params_digest"] += len(child["digests"])
    came["steps"] += child["steps"]
    came["ops"] += child["ops"]
    if child["ops"] or child["steps"] or child["limits"] or child["losses"]:
        recorder.note("counters of child processes are included")
