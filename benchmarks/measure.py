"""Whole processes, timed fairly: CPU of the process and its children, wall time, peak memory.

Commands that are compared run in turn, round after round, so that a machine whose speed drifts
does not favour one of them; ratios are taken within a round, and their median is quoted.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Run(NamedTuple):
    cpu: float
    """User and system seconds, children included."""
    wall: float
    peak: float
    """Largest resident set of one process, MB."""
    code: int


class Command(NamedTuple):
    name: str
    argv: Sequence[str]
    env: dict[str, str] | None = None
    before: Callable[[], None] | None = None
    """Run, untimed, before each round (to empty a cache, say)."""


def once(command: Command) -> Run:
    """Run a command with its output thrown away. Raises `OSError` if it cannot start."""
    if command.before is not None:
        command.before()
    started = time.perf_counter()
    process = subprocess.Popen(
        command.argv,
        # Installed programs find their bytecode; so must a checkout that is measured.
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "", **(command.env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    scale = 1 / 1024 if sys.platform != "darwin" else 1 / 1024**2
    return Run(
        usage.ru_utime + usage.ru_stime,
        time.perf_counter() - started,
        usage.ru_maxrss * scale,
        process.returncode,
    )


def interleaved(commands: Sequence[Command], rounds: int, warmup: int = 1) -> dict[str, list[Run]]:
    """`rounds` runs of each command, in turn. A command that fails to start is left out."""
    runs: dict[str, list[Run]] = {command.name: [] for command in commands}
    for number in range(-warmup, rounds):
        for command in commands:
            run = once(command)
            if run.code not in (0, 1):
                print(f"note: {command.name} ended with {run.code}", file=sys.stderr)
            if number >= 0:
                runs[command.name].append(run)
    return runs


def median(runs: Sequence[Run]) -> Run:
    return Run(
        statistics.median(r.cpu for r in runs),
        statistics.median(r.wall for r in runs),
        max(r.peak for r in runs),
        runs[-1].code,
    )


def ratio(runs: Sequence[Run], base: Sequence[Run]) -> float:
    """Median of the CPU ratios, round by round."""
    return statistics.median(a.cpu / max(b.cpu, 1e-9) for a, b in zip(runs, base, strict=True))


def table(title: str, runs: dict[str, list[Run]], against: str) -> str:
    """A Markdown table of all commands, with their ratio to the command `against`."""
    lines = [
        f"### {title}",
        "",
        f"| command | CPU s | wall s | peak MB | ÷ {against} |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name, measured in runs.items():
        middle = median(measured)
        lines.append(
            f"| {name} | {middle.cpu:.3f} | {middle.wall:.3f} | {middle.peak:.0f} "
            f"| {ratio(measured, runs[against]):.2f} |"
        )
    return "\n".join([*lines, ""])
