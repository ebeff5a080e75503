"""The temporary place of one verification: the snapshot, the harness, and a fresh copy for every
launch.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import json
import os
import shutil
import stat
import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from mpslint.verify import environment, isolation, own_modules, places, saved, snapshot, temporary
from mpslint.verify.copies import Copies
from mpslint.verify.harness import channel
from mpslint.verify.interpreter import Interpreter
from mpslint.verify.launch import Launch
from mpslint.verify.listener import Listener
from mpslint.verify.pace import Pace
from mpslint.verify.ready import Ready
from mpslint.verify.report import Isolation
from mpslint.verify.request import BadRequest, Request
from mpslint.verify.sandbox import process

_PROCESSES = 1024
_DISK = 4 << 30
_LIBRARIES = (
    8 << 30
)  # address space that torch's libraries and thread stacks may take beside the data
_EARLY = 0.6  # the harness ends a long run cleanly after this share of the time limit

Files = Mapping[str, bytes]


class Workshop:
    """Use as a context manager: everything below `base` is removed at the end."""

    def __init__(self, request: Request, python: Interpreter) -> None:
        self.request, self.python = request, python
        self.base = ""
        self.users_path = _users_python_path(request)
        found = request.root or snapshot.find_root(request.script, self.users_path)
        self.root = os.path.realpath(found)
        self.script = os.path.realpath(request.script)
        if not (self.script + os.sep).startswith(self.root.rstrip(os.sep) + os.sep):
            raise BadRequest(f"{request.script}: lies outside the folder to copy, {self.root}")
        self.room = "run"
        """The folder of this workshop's launches; those side by side have one each."""
        self.stop = threading.Event()
        self.isolation: dict[str, Any] = {}
        self.left_out: tuple[str, ...] = ()
        self.unread: dict[str, None] = {}
        """Files of the runs that were not looked into, each once."""
        self.watched: Mapping[str, list[int]] = {}
        self.watched_files: Files = {}

    def __enter__(self) -> Workshop:
        with contextlib.ExitStack() as stack:
            stack.enter_context(temporary.cleaned_up_when_asked_to_end())
            self.base = stack.enter_context(temporary.folder())
            self._install_harness()
            stack.callback(self._forget_server)
            taken = snapshot.take(self.root, self.script, self.request.args, self._in("pristine"))
            self.left_out = taken.left_out
            self.copies = Copies(self._in("pristine"), self._in("spares"))
            self._cleaning_up = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return self._cleaning_up.__exit__(kind, error, trace)

    def beside(self, number: int) -> Workshop:
        """The same workshop with another room, for a launch at the same time as others."""
        _ = self.ready
        other = copy.copy(self)
        other.room = f"run{number}"
        return other

    def clear(self) -> None:
        """Forget the last launch's files."""
        self.copies.spare(self._in(self.room, "project"))
        self._remove(self._in(self.room))

    def _in(self, *names: str) -> str:
        return os.path.join(self.base, *names)

    def _install_harness(self) -> None:
        source = os.path.join(os.path.dirname(__file__), "harness")
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, self._in("python", "mpslint_harness"), ignore=ignore)

    @functools.cached_property
    def ready(self) -> Ready:
        """What a run is forked from; workshops beside each other share it."""
        nowhere = self._in("nowhere")
        env = environment.build(
            {**os.environ},
            nowhere,
            nowhere,
            self.python.user_base,
            [self._in("python")],
            self.request.env,
        )
        sources = [os.path.realpath(path) for path in self.python.path if self._is_source(path)]
        return Ready(self.python, env, self._in("python"), sources)

    def _forget_server(self) -> None:
        if "ready" in vars(self):
            self.ready.close()

    def inside(self, path: str) -> str:
        """Where a file of the user's project lies in the copy."""
        return os.path.join(self._in(self.room, "project"), os.path.relpath(path, self.root))

    def covers(self, path: str) -> bool:
        return (os.path.realpath(path) + os.sep).startswith(self.root.rstrip(os.sep) + os.sep)

    def set_up(self, command: str) -> process.Ended:
        """Run the set-up command in the snapshot: every launch finds what it made."""
        self._fresh({})
        argv = ["/bin/sh", "-c", command]
        ended = self._sandboxed(argv, self.request.timeout, address_space=0)
        self._remove(self._in("pristine"))
        project, pristine = self._in(self.room, "project"), self._in("pristine")
        shutil.copytree(project, pristine, symlinks=True, ignore=snapshot.special_files)
        return ended

    def launch(
        self,
        files: Files,
        device: str,
        real: bool = False,
        timeout: float | None = None,
        pace: Pace | None = None,
        options: tuple[str, ...] = (),
    ) -> Launch:
        """Run the script on one device, in a fresh copy with `files` laid over it."""
        limit = timeout or self.request.timeout
        launched = self._launched(files, device, real, limit, pace, options, forked=not real)
        if launched.outcome == "unavailable" and not real:
            # A device that cannot be put into a torch that was imported before the script ran.
            self.ready.close()
            launched = self._launched(files, device, real, limit, pace, options, forked=False)
        return launched

    def _launched(
        self,
        files: Files,
        device: str,
        real: bool,
        limit: float,
        pace: Pace | None,
        options: tuple[str, ...],
        forked: bool,
    ) -> Launch:
        self._fresh(files)
        argv = [self.python.executable, "-m", "mpslint_harness", "--device", device]
        argv += (pace or Pace(self.request.steps)).arguments()
        argv += ["--project", self._in(self.room, "project")]
        argv += ["--seconds", f"{limit * _EARLY:.1f}"]
        if real:
            argv.append("--real")
        if self.request.torch_version:
            argv += ["--torch-version", self.request.torch_version]
        if asked := self._lines_to_watch(files):
            argv += ["--lines", asked]
        script = [self.inside(self.script), *map(self._inside_argument, self.request.args)]
        before = saved.states(self._in(self.room, "project"))
        space = 0 if real else self.request.memory + _LIBRARIES
        with Listener() as listener:
            argv += ["--channel", str(listener.handle), *options, *script]
            ended = self._sandboxed(argv, limit, space, [listener.handle], forked)
        kind = "cpu" if device == "cpu" else "real" if real else "simulated"
        left = saved.collect(self._in(self.room, "project"), before)
        self.unread.update(dict.fromkeys(saved.unread(left)))
        try:
            told = listener.told()
        except channel.Forged as error:
            return Launch(device, kind, ended, None, left, limit, None, str(error))
        done = Launch(device, kind, ended, self._outside(told.report), left, limit, told.status)
        return done._replace(way_out=own_modules.way_out(done.error, self.root, self.script))

    def _lines_to_watch(self, files: Files) -> str:
        """The file that tells the harness which lines are asked about; nothing for other texts."""
        if not self.watched or files is not self.watched_files:
            return ""
        path = self._in("python", f"lines-{self.room}.json")
        asked = {self.inside(os.path.realpath(name)): rows for name, rows in self.watched.items()}
        with open(path, "w", encoding="utf-8") as stream:
            json.dump(asked, stream)
        return path

    def watch(self, files: Files, lines: Mapping[str, list[int]]) -> None:
        """Ask which of these lines run, whenever just these files are laid over the copy."""
        self.watched_files, self.watched = files, lines

    def isolated(self) -> Isolation:
        """What the runs so far were kept from."""
        request = self.request
        return isolation.describe(
            self.isolation, request.memory, request.timeout, _PROCESSES, _DISK
        )

    def lay_out(self, files: Files) -> None:
        """A fresh copy of the snapshot with `files` laid over it, without running anything."""
        self._fresh(files)

    def _fresh(self, files: Files) -> None:
        os.makedirs(self._in(self.room), exist_ok=True)
        for name in os.listdir(self._in(self.room)):
            if name != "project":
                self._remove(self._in(self.room, name))
        for name in ("home", "tmp", "out"):
            os.makedirs(self._in(self.room, name))
        if not self.copies.fresh(self._in(self.room, "project")):
            raise _cannot_be_removed(self._in(self.room, "project"))
        for path, data in files.items():
            self._lay(path, data)

    def _lay(self, path: str, data: bytes) -> None:
        """Write a file of the copy; what a set-up command made of its place is not followed."""
        target = self.inside(os.path.realpath(path))
        project = os.path.join(os.path.realpath(self._in(self.room, "project")), "")
        folder = os.path.realpath(os.path.dirname(target))
        if not os.path.join(folder, "").startswith(project):
            raise BadRequest(f"{path}: the set-up command put a link to outside in its way")
        target = os.path.join(folder, os.path.basename(target))
        try:
            os.makedirs(folder, exist_ok=True)
            before = os.lstat(target) if os.path.lexists(target) else None
            if before is not None:
                os.unlink(target)
            with open(target, "xb") as file:
                file.write(data)
            if before is not None and stat.S_ISREG(before.st_mode):
                os.chmod(target, stat.S_IMODE(before.st_mode) | stat.S_IRUSR | stat.S_IWUSR)
        except OSError as error:
            why = f"the set-up command put something in its way ({error.strerror})"
            raise BadRequest(f"{path}: {why}") from None

    def _remove(self, path: str) -> None:
        if not temporary.remove(path):
            raise _cannot_be_removed(path)

    def _inside_argument(self, argument: str) -> str:
        """Absolute paths into the project mean the copy."""
        head, equals, tail = argument.partition("=")
        if os.path.isabs(argument) and self.covers(argument):
            return self.inside(os.path.realpath(argument))
        if equals and os.path.isabs(tail) and self.covers(tail):
            return head + equals + self.inside(os.path.realpath(tail))
        return argument

    def _python_path(self) -> list[str]:
        # Folders of the project that this Python imports from (an editable install) mean the copy,
        # too.
        own = [path for path in self.python.path if path == self.root or self._is_source(path)]
        mapped = [
            self.inside(os.path.realpath(path)) if self.covers(path) else path
            for path in [*self.users_path, *own]
        ]
        return [self._in("python"), *dict.fromkeys(mapped)]

    def _is_source(self, path: str) -> bool:
        installed = "site-packages" in path or "dist-packages" in path
        return self.covers(path) and not installed and os.path.isdir(path)

    def _sandboxed(
        self,
        argv: list[str],
        timeout: float,
        address_space: int,
        handles: Sequence[int] = (),
        forked: bool = False,
    ) -> process.Ended:
        env = environment.build(
            {**os.environ},
            self._in(self.room, "home"),
            self._in(self.room, "tmp"),
            self.python.user_base,
            self._python_path(),
            self.request.env,
        )
        limits = process.Limits(timeout, address_space, self.request.memory, _PROCESSES, _DISK)
        folder = self.request.cwd or os.path.dirname(self.script)
        cwd = self.inside(os.path.realpath(folder)) if self.covers(folder) else folder
        os.makedirs(cwd, exist_ok=True)
        first = [os.path.dirname(self.inside(self.script)), *self._python_path()[1:]]
        server = self.ready.for_run(first) if forked else None
        places = self._places()
        command = process.Command(argv, cwd, env, places, limits, handles, self.stop, server)
        ended = process.run(command)
        self.isolation.update(ended.isolation)
        here, there = self._in(self.room, "project"), self.root
        return ended._replace(
            stdout=ended.stdout.replace(here, there), stderr=ended.stderr.replace(here, there)
        )

    def _places(self) -> process.Places:
        return places.lay_out(
            self.python,
            os.environ.get("PATH", "").split(os.pathsep),
            self.users_path,
            # What runs beside it is none of its business.
            [self._in(self.room), self._in("python")],
            [self._in(self.room, name) for name in ("project", "home", "out", "tmp")],
            [
                self.root, os.path.dirname(self.root), "/", os.path.expanduser("~"),
                self._in(self.room), self._in("python"),
            ],
        )  # fmt: skip

    def _outside(self, report: dict[str, Any] | None) -> dict[str, Any] | None:
        """The report with the user's own paths instead of those of the copy."""
        if report is None:
            return None
        inside, outside = (
            json.dumps(self._in(self.room, "project"))[1:-1],
            json.dumps(self.root)[1:-1],
        )
        mapped: dict[str, Any] = json.loads(json.dumps(report).replace(inside, outside))
        return mapped


def _cannot_be_removed(path: str) -> BadRequest:
    return BadRequest(f"{path}: what the last run left there cannot be removed")


def _users_python_path(request: Request) -> list[str]:
    """The user's PYTHONPATH; relative entries mean what they mean where the user stands."""
    named = request.env.get("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    return [os.path.abspath(path) for path in named.split(os.pathsep) if path]
