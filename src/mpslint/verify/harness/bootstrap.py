"""Puts the device under test in place right after the script's own ``import torch``.

Child processes (spawned workers, subprocesses, ``torchrun``) are reached through PYTHONPATH and
``startup/sitecustomize.py``; see ``children``.
"""

from __future__ import annotations

import atexit
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from . import absent, children, loops, prepared, probes, seeding, stopping, tripwire
from .options import EXIT_UNAVAILABLE, Options, from_environment
from .recorder import RECORDER

FALLBACK_VARIABLE = "PYTORCH_ENABLE_MPS_FALLBACK"


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
    from . import observers

    if options.sample:
        from . import loaders

        loaders.install(options)
    seeding.install()
    observers.install(options)


class _CFinder(importlib.abc.MetaPathFinder):
    """Finds ``torch._C`` as Python would, and leaves out what a CPU build lacks."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "torch._C":
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return None
        loader: Any = spec.loader
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            absent.without_names(module)

        loader.exec_module = exec_module
        return spec


class _TorchFinder(importlib.abc.MetaPathFinder):
    """Finds torch as Python would, and adds one step to its execution."""

    def __init__(self, after: Callable[[bool], None], real: bool) -> None:
        self.after, self.real = after, real

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
            c_finder = _CFinder()
            if not self.real:
                sys.meta_path.insert(0, c_finder)
            try:
                execute(module)
            finally:
                RECORDER.importing_torch = False
            if c_finder in sys.meta_path:  # torch was in store
                sys.meta_path.remove(c_finder)
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
            if (variable := prepared.changed_since()) is not None:
                raise Unavailable(f"the torch that was imported before has not seen {variable}")
            prepare_torch(options, fallback)
        except Unavailable as error:
            RECORDER.missing(str(error))
            raise
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            RECORDER.missing(message)
            raise Unavailable(message) from error
        finally:
            RECORDER.importing_torch = False
        RECORDER.loaded()

    real = options.kind == "real"
    if "torch" in sys.modules:
        if not real:
            absent.without_names(sys.modules["torch._C"])
        after(_fallback_enabled())
    else:
        sys.meta_path.insert(0, _TorchFinder(after, real))


def reach_children() -> None:
    """Put the start-up folder first on PYTHONPATH, for every Python started from here."""
    startup = os.path.join(os.path.dirname(os.path.abspath(__file__)), "startup")
    rest = [path for path in [os.environ.get("PYTHONPATH")] if path]
    os.environ["PYTHONPATH"] = os.pathsep.join([startup, *rest])


def start_child() -> None:
    """Called by ``sitecustomize`` in a child process."""
    options = from_environment()
    RECORDER.trace = options.trace
    probes.install(options.lines)
    loops.install(options)
    tripwire.install(None, options.children)
    seeding.install_early()
    hard_exit = os._exit

    def leave(code: int) -> None:
        children.leave_record(options)
        hard_exit(code)

    def stop_child() -> None:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        children.say_stopped(options)
        leave(0)

    os._exit = leave  # type: ignore[assignment]
    children.watch_exit_code(options)
    atexit.register(children.leave_record, options)
    stopper = stopping.Stopper(options, 0.0, stop_child)
    stopper.begun_in_child = lambda: children.announce(options, stop_child)
    stopper.in_child = True
    stopping.STOPPER = stopper
    try:
        watch_import_of_torch(options)
    except Unavailable as error:
        print(f"mpslint: simulated device unavailable: {error}", file=sys.stderr)
        hard_exit(EXIT_UNAVAILABLE)
