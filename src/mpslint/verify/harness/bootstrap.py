"""Puts the device under test in place right after the script's own ``import torch``.

Child processes (spawned workers, subprocesses, ``torchrun``) are reached through PYTHONPATH and
``startup/sitecustomize.py``; what they did is merged into the parent's report.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from . import stopping
from .options import EXIT_UNAVAILABLE, Options, from_environment
from .recorder import RECORDER
from .report import write_json

FALLBACK_VARIABLE = "PYTORCH_ENABLE_MPS_FALLBACK"
_CHILD_PREFIX = "child-"


class Unavailable(BaseException):
    """The device cannot be simulated (or is not there): the script must not run on."""


def _fallback_enabled() -> bool:
    """The fallback variable, read as libtorch reads it: once, while torch is being loaded."""
    text = (os.environ.get(FALLBACK_VARIABLE) or "").strip()
    return text.lstrip("+-").isdigit() and int(text) != 0


def prepare_torch(options: Options, fallback: bool) -> None:
    """Install the device under test and the observers into the freshly imported torch."""
    RECORDER.visible_devices = options.visible_devices
    if options.kind == "cpu":
        from . import cpu_only

        cpu_only.install()
    elif options.kind == "real":
        from . import real_device

        real_device.install(options.device)
    else:
        from . import simulator

        simulator.install(options.device, options.torch_version, fallback)
    from . import observers, seeding

    seeding.install()
    observers.install(options)


class _TorchFinder(importlib.abc.MetaPathFinder):
    """Finds torch as Python would, and adds one step to its execution."""

    def __init__(self, after: Callable[[bool], None]) -> None:
        self.after = after

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "torch":
            return None
        sys.meta_path.remove(self)
        try:
            spec = importlib.util.find_spec("torch")
        finally:
            sys.meta_path.insert(0, self)
        if spec is None or spec.loader is None:
            return None
        loader: Any = spec.loader
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            fallback = _fallback_enabled()
            RECORDER.importing_torch = True
            try:
                execute(module)
            finally:
                RECORDER.importing_torch = False
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            # torch is complete. Say so now: autograd's threads import it too, and would wait
            # for this very import to end.
            spec._initializing = False  # type: ignore[attr-defined]
            self.after(fallback)

        loader.exec_module = exec_module
        return spec


def watch_import_of_torch(options: Options) -> None:
    """Arrange for :func:`prepare_torch`, now if torch is loaded already."""

    def after(fallback: bool) -> None:
        RECORDER.importing_torch = True
        try:
            prepare_torch(options, fallback)
        except Unavailable as error:
            RECORDER.unavailable = str(error)
            raise
        except Exception as error:
            RECORDER.unavailable = f"{type(error).__name__}: {error}"
            raise Unavailable(RECORDER.unavailable) from error
        finally:
            RECORDER.importing_torch = False

    if "torch" in sys.modules:
        after(_fallback_enabled())
    else:
        sys.meta_path.insert(0, _TorchFinder(after))


def children_folder(options: Options) -> str | None:
    """A folder in which child processes leave what they did; removed after the merge."""
    return tempfile.mkdtemp(prefix="mpslint-children-") if options.report else None


def reach_children() -> None:
    """Put the start-up folder first on PYTHONPATH, for every Python started from here."""
    startup = os.path.join(os.path.dirname(os.path.abspath(__file__)), "startup")
    rest = [path for path in [os.environ.get("PYTHONPATH")] if path]
    os.environ["PYTHONPATH"] = os.pathsep.join([startup, *rest])


def start_child() -> None:
    """Called by ``sitecustomize`` in a child process."""
    options = from_environment()
    RECORDER.trace = options.trace
    hard_exit = os._exit

    def leave(code: int) -> None:
        leave_child_record(options)
        hard_exit(code)

    def stop_child() -> None:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        leave(0)

    os._exit = leave  # type: ignore[assignment]
    atexit.register(leave_child_record, options)
    stopper = stopping.Stopper(options.steps, 0.0, stop_child)
    stopper.in_child = True
    stopping.STOPPER = stopper
    try:
        watch_import_of_torch(options)
    except Unavailable as error:
        print(f"mpslint: simulated device unavailable: {error}", file=sys.stderr)
        hard_exit(EXIT_UNAVAILABLE)


def leave_child_record(options: Options) -> None:
    """Write this child's counters where the launching process will find them."""
    if not options.children or not os.path.isdir(options.children):
        return
    recorder = RECORDER
    if not (recorder.ops or recorder.steps or recorder.limits or recorder.losses):
        return
    path = os.path.join(options.children, f"{_CHILD_PREFIX}{os.getpid()}.json")
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
            "losses": recorder.losses,
            "digests": recorder.digests,
        },
    )


def merge_children(options: Options) -> None:
    """Add what child processes recorded to this process's counters."""
    folder = options.children
    if not folder or not os.path.isdir(folder):
        return
    for name in sorted(os.listdir(folder)):
        if not name.startswith(_CHILD_PREFIX):
            continue
        path = os.path.join(folder, name)
        with open(path, encoding="utf-8") as stream:
            _merge(json.load(stream))
        os.unlink(path)
    # A child may still be writing; then the folder stays, in the run's own TMPDIR.
    with contextlib.suppress(OSError):
        os.rmdir(folder)


def _merge(child: Any) -> None:
    recorder = RECORDER
    recorder.ops += child["ops"]
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
    recorder.note("counters of child processes are included")
