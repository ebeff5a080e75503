"""Runs the user's script as ``__main__`` and says how it ended."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import traceback
import types
from collections.abc import Callable
from typing import Any, NoReturn

from . import (
    bootstrap,
    channel,
    children,
    guarded,
    log_lines,
    loops,
    probes,
    rewriting,
    seeding,
    stopping,
    teller,
    tripwire,
    vetting,
)
from .options import EXIT_LIMIT, EXIT_NO_TORCH, EXIT_UNAVAILABLE, Options, parse, to_environment
from .recorder import RECORDER
from .report import ReportWriter, describe_error, without_harness

Ending = tuple[str, int, dict[str, Any] | None]

_NO_ANSWER = re.compile(
    r"EOFError|BrokenPipe|Broken pipe|Connection(Reset|Refused|Aborted)?Error|Connection reset"
    r"|Connection closed by peer|^Empty\b|queue\.Empty|BrokenProcessPool|BrokenExecutor"
    r"|Timed out|Timeout"
)

# What a CPU build of torch says of parts that it lacks and that have no stand-in here.
_NOT_SIMULATED = {
    "new_compressed_tensor": "compressed sparse tensors are",
    "doesn't have NCCL built in": "NCCL is",
}
_SIGNALS = ("SIGTERM", "SIGHUP", "SIGXCPU", "SIGQUIT")


def run_as_main(script: str, args: list[str]) -> None:
    """Execute ``script`` the way ``python script args`` does, in a fresh ``__main__`` module."""
    path = os.path.abspath(script)
    with open(path, "rb") as stream:
        source = stream.read()
    module = types.ModuleType("__main__")
    module.__file__ = path
    module.__dict__["__builtins__"] = __builtins__
    module.__dict__["__cached__"] = None
    sys.modules["__main__"] = module
    sys.argv = [script, *args]
    sys.path[0] = os.path.dirname(path)
    exec(rewriting.compiled(source, path), module.__dict__)


def _exit_status(error: SystemExit) -> int:
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code
    print(error.code, file=sys.stderr)
    return 1


class Run:
    """One run of one script: from the first line to the report."""

    def __init__(self, options: Options, send: channel.Send | None = None) -> None:
        self.options = options
        self.writer = ReportWriter(options, send)
        self.stopper = stopping.Stopper(options, options.seconds, self.finish_hard)
        self._real_exit: Callable[[int], NoReturn] = os._exit

    def execute(self) -> int:
        """Run the script; returns the exit code of the harness."""
        self._catch_hard_exits()
        stopping.install(self.stopper)
        self.stopper.begun_in_child = lambda: children.announce(self.options, self.finish_hard)
        children.watch(self.options, self.stopper.stop_waiting, self.finish_failed)
        try:
            bootstrap.watch_import_of_torch(self.options)
            run_as_main(self.options.script, self.options.args)
            ending: Ending = ("finished", 0, None)
        except bootstrap.Unavailable as error:
            print(f"mpslint: device unavailable: {error}", file=sys.stderr)
            ending = ("unavailable", EXIT_UNAVAILABLE, describe_error(error))
        except stopping.StopRun:
            ending = ("stopped", 0, None)
        except SystemExit as error:
            ending = ("exit", _exit_status(error), None)
        except BaseException as error:
            traceback.print_exception(type(error), error, without_harness(error.__traceback__))
            ending = ("error", 1, describe_error(error))
        self.stopper.close()
        return self.conclude(*self._judge(*ending))

    def _judge(self, outcome: str, code: int, error: dict[str, Any] | None) -> Ending:
        if RECORDER.unavailable is not None:
            return "unavailable", EXIT_UNAVAILABLE, error
        for words, what in _NOT_SIMULATED.items():
            if self.options.kind == "simulated" and error is not None and words in error["message"]:
                RECORDER.limit(f"{what} not simulated")
        if RECORDER.limits:
            return "limit", EXIT_LIMIT, error
        if self.stopper.requested or (error and self._misses_a_stopped_child(error)):
            return "stopped", 0, None
        if "torch" not in sys.modules and code == 0:
            return "no-torch", EXIT_NO_TORCH, error
        return outcome, code, error

    def _misses_a_stopped_child(self, error: dict[str, Any]) -> bool:
        """The script broke off since a worker, which the harness had ended, did not answer."""
        said = f"{error['type']}: {error['message']}"
        return children.any_stopped(self.options) and _NO_ANSWER.search(said) is not None

    def conclude(self, outcome: str, code: int, error: dict[str, Any] | None) -> int:
        """Write the report and hand back the exit code."""
        children.merge(self.options)
        script_code = None if outcome in ("unavailable", "no-torch", "limit") else code
        if outcome == "limit" and error is not None:
            script_code = 1
        self.writer.write(outcome, script_code, error, code)
        return code

    def finish_hard(self) -> None:
        """End the process now: the script did not let go by itself."""
        if os.getpid() != self.writer.process:
            children.say_stopped(self.options)
            children.leave_record(self.options)
            self._leave(0)
        code = self.conclude(*self._judge("stopped", 0, None))
        self._leave(code)

    def finish_failed(self) -> None:
        """End the process now: it waits for a worker that has failed."""
        error = {
            "type": "WorkerFailed",
            "message": "a worker process failed, and the script waits for it for ever",
            "file": "",
            "line": 0,
            "traceback": "",
        }
        self._leave(self.conclude(*self._judge("error", 1, error)))

    def _leave(self, code: int) -> NoReturn:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        self._real_exit(code)

    def _catch_hard_exits(self) -> None:
        process = os.getpid()

        def leave_with_report(status: int) -> NoReturn:
            if os.getpid() == process:
                self.conclude(*self._judge("exit", status, None))
            else:
                children.say_failed(self.options, status)
                children.leave_record(self.options)
            self._real_exit(status)

        os._exit = leave_with_report
        for name in _SIGNALS:
            number = getattr(signal, name, None)
            if number is not None:
                signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: Any) -> None:
        if os.getpid() == self.writer.process:
            name = signal.Signals(number).name
            error = {
                "type": "Signal",
                "message": f"the process received {name}",
                "file": frame.f_code.co_filename if frame else "",
                "line": frame.f_lineno if frame else 0,
                "traceback": "",
            }
            self.conclude("exit", 128 + number, error)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


def main(argv: list[str]) -> int:
    """Entry point; returns the exit code that the report's contract defines."""
    options = parse(argv)
    if not os.path.isfile(options.script):
        print(f"mpslint: no such script: {options.script}", file=sys.stderr)
        return 2
    options = options._replace(
        children=children.make_folder(options),
        visible_devices=os.environ.get("CUDA_VISIBLE_DEVICES"),
    )
    send: channel.Send | None = None
    told = None
    if options.channel is not None:
        told = teller.open_channel(options.channel, vetting.vetting())
        send = RECORDER.tell = told.send
        guarded.listen(lambda name: told.send({"changed": name}))
    to_environment(options, os.path.dirname(os.path.abspath(__file__)))
    bootstrap.reach_children()
    RECORDER.trace = options.trace
    probes.install(options.lines)
    loops.install(options)
    log_lines.install()
    seeding.install_early()
    if options.spawn:
        import multiprocessing

        multiprocessing.set_start_method("spawn")
    run = Run(options, send)
    if told is not None:
        RECORDER.loaded()
        tripwire.install(told, options.children)
    code = run.execute()
    sys.stdout.flush()
    return code
