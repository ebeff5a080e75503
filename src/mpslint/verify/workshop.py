"""The temporary place of one verification: the snapshot, the harness, and a fresh copy for every
launch.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import shutil
import tempfile
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from mpslint.verify import environment, saved, snapshot
from mpslint.verify.interpreter import Interpreter
from mpslint.verify.launch import Launch
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
        self.base = os.path.realpath(tempfile.mkdtemp(prefix="mpslint-verify-"))
        self.users_path = _users_python_path(request)
        found = request.root or snapshot.find_root(request.script, self.users_path)
        self.root = os.path.realpath(found)
        self.script = os.path.realpath(request.script)
        if not (self.script + os.sep).startswith(self.root.rstrip(os.sep) + os.sep):
            raise BadRequest(f"{request.script}: lies outside the folder to copy, {self.root}")
        self.isolation: dict[str, Any] = {}
        self.left_out: tuple[str, ...] = ()

    def __enter__(self) -> Workshop:
        self._install_harness()
        taken = snapshot.take(self.root, self.script, self.request.args, self._in("pristine"))
        self.left_out = taken.left_out
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        shutil.rmtree(self.base, ignore_errors=True)

    def _in(self, *names: str) -> str:
        return os.path.join(self.base, *names)

    def _install_harness(self) -> None:
        source = os.path.join(os.path.dirname(__file__), "harness")
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, self._in("python", "mpslint_harness"), ignore=ignore)

    def inside(self, path: str) -> str:
        """Where a file of the user's project lies in the copy."""
        return os.path.join(self._in("run", "project"), os.path.relpath(path, self.root))

    def covers(self, path: str) -> bool:
        return (os.path.realpath(path) + os.sep).startswith(self.root.rstrip(os.sep) + os.sep)

    def set_up(self, command: str) -> process.Ended:
        """Run the set-up command in the snapshot: every launch finds what it made."""
        self._fresh({})
        argv = ["/bin/sh", "-c", command]
        ended = self._sandboxed(argv, self.request.timeout, address_space=0)
        shutil.rmtree(self._in("pristine"))
        shutil.copytree(self._in("run", "project"), self._in("pristine"), symlinks=True)
        return ended

    def launch(
        self,
        files: Files,
        device: str,
        real: bool = False,
        timeout: float | None = None,
        steps: int | None = None,
        options: tuple[str, ...] = (),
    ) -> Launch:
        """Run the script on one device, in a fresh copy with `files` laid over it."""
        self._fresh(files)
        limit = timeout or self.request.timeout
        report = self._in("run", "out", "report.json")
        argv = [self.python.executable, "-m", "mpslint_harness", "--device", device]
        argv += ["--report", report, "--steps", str(self.request.steps if steps is None else steps)]
        argv += ["--seconds", f"{limit * _EARLY:.1f}"]
        if real:
            argv.append("--real")
        if self.request.torch_version:
            argv += ["--torch-version", self.request.torch_version]
        argv += [*options, self.inside(self.script), *map(self._inside_argument, self.request.args)]
        before = saved.states(self._in("run", "project"))
        space = 0 if real else self.request.memory + _LIBRARIES
        ended = self._sandboxed(argv, limit, space)
        kind = "cpu" if device == "cpu" else "real" if real else "simulated"
        left = saved.collect(self._in("run", "project"), before)
        return Launch(device, kind, ended, self._read(report), left, limit)

    processes = _PROCESSES

    def lay_out(self, files: Files) -> None:
        """A fresh copy of the snapshot with `files` laid over it, without running anything."""
        self._fresh(files)

    def _fresh(self, files: Files) -> None:
        shutil.rmtree(self._in("run"), ignore_errors=True)
        for name in ("home", "tmp", "out"):
            os.makedirs(self._in("run", name))
        shutil.copytree(self._in("pristine"), self._in("run", "project"), symlinks=True)
        for path, data in files.items():
            target = self.inside(os.path.realpath(path))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as file:
                file.write(data)

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

    def _sandboxed(self, argv: list[str], timeout: float, address_space: int) -> process.Ended:
        env = environment.build(
            {**os.environ},
            self._in("run", "home"),
            self._in("run", "tmp"),
            self.python.user_base,
            self._python_path(),
            self.request.env,
        )
        limits = process.Limits(timeout, address_space, self.request.memory, _PROCESSES, _DISK)
        folder = self.request.cwd or os.path.dirname(self.script)
        cwd = self.inside(os.path.realpath(folder)) if self.covers(folder) else folder
        os.makedirs(cwd, exist_ok=True)
        ended = process.run(argv, cwd, env, self._places(), limits)
        self.isolation = ended.isolation or self.isolation
        here, there = self._in("run", "project"), self.root
        return ended._replace(
            stdout=ended.stdout.replace(here, there), stderr=ended.stderr.replace(here, there)
        )

    def _places(self) -> process.Places:
        writable = [self._in("run", name) for name in ("project", "home", "tmp", "out")]
        search = os.environ.get("PATH", "").split(os.pathsep)
        keep = [*self.python.folders, *search, *self.users_path, self.base]
        keep = [path for path in keep if os.path.isabs(path) and os.path.isdir(path)]
        hidden = [path for path in _private_folders() if not any(_holds(k, path) for k in keep)]
        keep = [
            path
            for path in keep
            if path == self.base or any(_holds(h, path) for h in _covered(hidden))
        ]
        tmp = self._in("run", "tmp")
        scratch = {path: tmp for path in process.SHARED_SCRATCH if _is_own_folder(path)}
        guarded = [self.root, os.path.dirname(self.root), "/", os.path.expanduser("~")]
        guarded += [self.base, self._in("python")]
        return process.Places(
            writable, hidden, keep, scratch, [p for p in guarded if os.path.isdir(p)]
        )

    def _read(self, path: str) -> dict[str, Any] | None:
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except OSError:
            return None
        inside, outside = json.dumps(self._in("run", "project"))[1:-1], json.dumps(self.root)[1:-1]
        report: dict[str, Any] = json.loads(text.replace(inside, outside))
        return report


def _users_python_path(request: Request) -> list[str]:
    """The user's PYTHONPATH; relative entries mean what they mean where the user stands."""
    named = request.env.get("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    return [os.path.abspath(path) for path in named.split(os.pathsep) if path]


def _holds(folder: str, path: str) -> bool:
    return (path.rstrip(os.sep) + os.sep).startswith(folder.rstrip(os.sep) + os.sep)


def _is_own_folder(path: str) -> bool:
    return os.path.isdir(path) and os.path.realpath(path) == path


def _covered(hidden: list[str]) -> list[str]:
    return [*hidden, *process.SHARED_SCRATCH, "/dev/shm"]


def _private_folders() -> list[str]:
    """Where people and systems keep what a script must not see: homes, sockets and run-time
    secrets.
    """
    homes = [os.path.expanduser("~")]
    with contextlib.suppress(KeyError):
        homes.append(pwd.getpwuid(os.getuid()).pw_dir)
    if os.getuid() == 0:
        homes += ["/root", "/home"]
    real = dict.fromkeys(os.path.realpath(path) for path in [*homes, "/run"])
    shared = ("/", *process.SHARED_SCRATCH)
    return [path for path in real if os.path.isdir(path) and path not in shared]
