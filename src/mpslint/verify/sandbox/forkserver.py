"""A process of the user's Python that has prepared what all runs need, and forks one for each.

Started with the number of a socket, the folder that mpslint's own modules come from, and the name
of a module with two functions: `prepare(arguments)`, called once, returns what the other side
should know; `begin(argv)` is what a forked process does once it has no rights left. What `prepare`
does is done without a sandbox: it must not run or read anything of the project that is verified.

Each fork splits as `launch` has it. Nothing of a run comes back into this process, so that the next
run is forked from what the first one was forked from.
"""

from __future__ import annotations

import fcntl
import functools
import gc
import importlib
import json
import os
import signal
import socket
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from mpslint.verify.sandbox import launch

MOST_HANDLES = 16
_OWN = "mpslint"  # the package that this module comes from, which the command must not see

Begin = Callable[[], int]


def serve(handle: int, module: str, arguments: Sequence[Any]) -> Begin | None:
    """Answer until the other side hangs up. Returns in a forked command alone, what it is to do,
    or None where no run can be forked from this process.
    """
    requests = socket.socket(fileno=handle)
    requests.set_inheritable(False)
    original = [path for path in sys.path if path]
    prepared = importlib.import_module(module)
    about = prepared.prepare(*arguments)
    # A file that is open here would be one for all runs.
    if _open_files() - {0, 1, 2, handle}:
        return None
    gc.collect()
    gc.freeze()  # the collector would copy each page that it looks at, in each of the runs
    requests.sendall(json.dumps(about).encode() + b"\n")
    while True:
        asked, handles, _, _ = socket.recv_fds(requests, 1, MOST_HANDLES)
        _reap()
        if not asked:
            os._exit(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # threads of a library's own that only wait for work
            process = os.fork()
        if process == 0:
            requests.close()
            return functools.partial(prepared.begin, _split(handles, original))
        for each in handles:
            os.close(each)
        requests.sendall(b"%d\n" % process)


def _open_files() -> set[int]:
    found = {int(name) for name in os.listdir("/proc/self/fd")}
    return {number for number in found if os.path.exists(f"/proc/self/fd/{number}")}


def _reap() -> None:
    """Let go of wardens that have ended: the other side has a handle on each by now."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _split(handles: list[int], original: list[str]) -> list[str]:
    """Become a warden and its command; returns the command's arguments, in the command alone."""
    os.setsid()
    config_fd, *rest = handles
    with os.fdopen(config_fd, "rb") as file:
        config = json.load(file)
    status_fd, control_fd, output, errors = _renumbered(rest, config["handles"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(errors, 2)
    for number in (output, errors):
        os.close(number)

    def start(config: dict[str, Any]) -> None:
        _take_over(config, original)
        _forget({0, 1, 2, *config["handles"]})

    if launch.split(config, status_fd, control_fd, start):
        os._exit(0)
    return list(config["argv"])


def _renumbered(handles: list[int], wanted: list[int]) -> list[int]:
    """Give the last of the files the numbers that the command line speaks of, and the others such
    as are in nobody's way; returns those.
    """
    above = max((2, *handles, *wanted)) + 1
    held = [fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, above) for number in handles]
    for number in handles:
        os.close(number)
    others = len(held) - len(wanted)
    for number, place in zip(held[others:], wanted, strict=True):
        os.dup2(number, place)
        os.close(number)
    return held[:others]


def _forget(kept: set[int]) -> None:
    """Close what a program that is executed would not have."""
    for number in _open_files() - kept:
        os.close(number)


def _take_over(config: dict[str, Any], original: list[str]) -> None:
    """What the start of a Python does with its environment and its signals."""
    os.environ.clear()
    os.environ.update(config["env"])
    search = [path for path in config["env"].get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:] = [config["cwd"], *search, *(path for path in original if path not in search)]
    sys.path_importer_cache.clear()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in [name for name in sys.modules if name.partition(".")[0] == _OWN]:
        del sys.modules[name]
