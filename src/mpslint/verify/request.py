"""What to verify, and how: the one input of `verify`."""

from __future__ import annotations

import ast
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from mpslint.errors import MpslintError

DEVICES = ("cpu", "mps", "cuda")
_LEAST_MB = 128  # torch alone takes more than half of it


class BadRequest(MpslintError):
    """A verification that cannot be started; the message names what is wrong."""


@dataclass(frozen=True)
class Request:
    """One verification.

    script: the script that is run; args: its arguments; devices: of cpu, mps, cuda;
    python: an interpreter (None: this one); torch is looked for in it by a child process;
    original: a file with the script's text before the rewrite;
    patched: absolute path -> new bytes, laid over the copy (empty: the script as it is);
    root: the folder to copy (None: found by `snapshot`);
    cwd, env: where the script runs (None: its folder), and variables beside the allowed ones;
    steps: optimizer steps until a run is ended (0: it goes to its own end, within a part of the
    time); timeout: seconds per run;
    memory_mb: per run, in sum (0: chosen by the machine's size);
    setup: a shell command run in the copy first;
    torch_version: the MPS operator table to enforce;
    real: also the real devices: those of `devices`, and CUDA where there is an original, as far as
    this machine may have them (None), every one that this Python can use (True), or none (False);
    negative_control: also a broken copy, which must not pass.
    """

    script: str
    args: tuple[str, ...] = ()
    devices: tuple[str, ...] = ("cpu", "mps")
    python: str | None = None
    original: str | None = None
    patched: Mapping[str, bytes] = field(default_factory=dict)
    root: str | None = None
    cwd: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    steps: int = 0
    timeout: float = 300.0
    memory_mb: int = 0
    setup: str | None = None
    torch_version: str | None = None
    real: bool | None = None
    negative_control: bool = True

    def checked(self) -> Request:
        """The same request; raises BadRequest, naming the value and the way out, when it makes no
        sense.
        """
        if os.path.isdir(self.script):
            raise BadRequest(f"{self.script}: is a folder; name the script in it that is to be run")
        if not os.path.isfile(self.script):
            raise BadRequest(f"{self.script}: no such script; name the file that is to be run")
        if self.original is not None and not os.path.isfile(self.original):
            what = "is a folder" if os.path.isdir(self.original) else "no such file"
            raise BadRequest(f"{self.original}: {what}; it should be the original script")
        if no_script := _no_python(self.script):
            raise BadRequest(
                f"{self.script}: no Python script ({no_script}); name the .py file that is to run"
            )
        if self.python is not None and shutil.which(self.python) is None:
            what = "is a folder" if os.path.isdir(self.python) else "no program of that name"
            raise BadRequest(
                f"--python {self.python}: {what}; name a Python that has torch, "
                "or leave the option out for the active one"
            )
        for device in self.devices:
            if device not in DEVICES:
                raise BadRequest(f"device {device!r}: expected one of {', '.join(DEVICES)}")
        if not self.devices:
            raise BadRequest("no device to run on: name at least one of cpu, mps, cuda")
        if self.steps < 0 or self.timeout <= 0 or self.memory_mb < 0:
            raise BadRequest(
                "steps and memory must not be negative, and the timeout must be positive"
            )
        if 0 < self.memory_mb < _LEAST_MB:
            raise BadRequest(
                f"--memory {self.memory_mb}: too little for torch alone, and counted in MB; give "
                f"{max(1024 * self.memory_mb, 1024)}, say, or leave the option out"
            )
        for name, path in (("root", self.root), ("cwd", self.cwd)):
            if path is not None and not os.path.isdir(path):
                raise BadRequest(f"{path}: no such folder ({name})")
        return self

    @property
    def interpreter(self) -> str:
        return located(self.python or sys.executable)

    @property
    def has_original(self) -> bool:
        """Whether there are two programs to compare."""
        return self.original is not None or bool(self.patched)

    @property
    def memory(self) -> int:
        """Bytes that all processes of a run may use together."""
        if self.memory_mb:
            return self.memory_mb << 20
        try:
            physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError):
            return 8 << 30
        return max(min(8 << 30, physical * 3 // 4), 1 << 30)


def located(python: str) -> str:
    """The path of a program that is started in other folders than the one that it is named from."""
    found = shutil.which(python)
    return os.path.abspath(found) if found else python


def _no_python(script: str) -> str | None:
    """Why a file that is not called so is no Python either; a script may have any name."""
    if os.path.splitext(script)[1].lower() in ("", ".py", ".pyw"):
        return None
    try:
        with open(script, "rb") as file:
            ast.parse(file.read())
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    except (OSError, ValueError) as error:
        return str(error)
    return None
