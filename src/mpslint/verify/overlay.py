"""The CPU build of the user's torch in front of his environment (`--torch cpu`), kept for later.

Only torch itself is installed, into a folder of its own; all that it needs is the environment's.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace

from mpslint.folders.cache_folder import location
from mpslint.verify import interpreter
from mpslint.verify.request import BadRequest, Request

CPU_BUILDS = "https://download.pytorch.org/whl/cpu"
_RELEASE = re.compile(r"\d+(\.\d+)+")
_MINUTES = 30
_OLDEST, _FIRST_THAT_HOLDS = (2, 9), "2.9.1"

Progress = Callable[[str], None]


def builds() -> str | None:
    """Where the builds are kept; None for a user without a home."""
    base = location()
    return base and base + "-torch"


def remove() -> str | None:
    """Remove all builds; where they were, or None. Raises OSError."""
    folder = builds()
    if folder is None or not os.path.isdir(folder):
        return None
    shutil.rmtree(folder)
    return folder


def in_front(request: Request, tell: Progress) -> Request:
    """The request with the CPU build first on PYTHONPATH. Raises BadRequest."""
    python = interpreter.ask(request.interpreter, request.env)
    folder = prepared(python, tell)
    before = request.env.get("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    path = os.pathsep.join(part for part in (folder, before) if part)
    return replace(request, env={**request.env, "PYTHONPATH": path})


def prepared(python: interpreter.Interpreter, tell: Progress) -> str:
    """The folder with the CPU build for this Python, installed now where it is not there yet."""
    version = _RELEASE.match(python.torch or "")
    if version is None:
        raise BadRequest(
            f"{python.executable}: which torch it has is not known ({python.torch}), so --torch "
            "cpu cannot choose one; install the CPU build yourself and name its Python (--python)"
        )
    release = version[0]
    if tuple(map(int, release.split(".")[:2])) < _OLDEST:
        tell(f"torch {release} is too old for simulated mps: {_FIRST_THAT_HOLDS} in its place")
        release = _FIRST_THAT_HOLDS
    if sys.platform == "darwin":
        raise BadRequest("--torch cpu: there is no CPU build for Macs; leave the option out")
    kept = builds()
    if kept is None:
        raise BadRequest("--torch cpu needs a cache folder; name one with MPSLINT_CACHE_DIR")
    tag = f"cp{python.version[0]}{python.version[1]}"
    folder = os.path.join(kept, f"{release}-cpu-{tag}")
    if os.path.isdir(os.path.join(folder, "torch")):
        return folder
    _install(python.executable, release, folder, tell)
    return folder


def command(python: str, version: str, folder: str) -> list[str]:
    """What installs it: uv where there is one, else that Python's pip."""
    wanted = [f"torch=={version}+cpu", "--no-deps", "--target", folder]
    uv = shutil.which("uv")
    if uv is not None:
        return [uv, "pip", "install", "--python", python, *wanted, "--index", CPU_BUILDS]
    return [
        python, "-m", "pip", "install", "--disable-pip-version-check", "--retries", "1",
        "--extra-index-url", CPU_BUILDS, *wanted,
    ]  # fmt: skip


def _install(python: str, version: str, folder: str, tell: Progress) -> None:
    parent = os.path.dirname(folder)
    os.makedirs(parent, mode=0o700, exist_ok=True)
    unfinished = tempfile.mkdtemp(prefix=".unfinished-", dir=parent)
    try:
        argv = command(python, version, unfinished)
        tell(f"about 200 MB, once, into {folder}: {' '.join(argv)}")
        done = _run(argv)
        if done.returncode or not os.path.isdir(os.path.join(unfinished, "torch")):
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise BadRequest(f"--torch cpu: torch {version}+cpu could not be installed: {last}")
        if not os.path.isdir(folder):
            os.rename(unfinished, folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _run(argv: list[str]) -> subprocess.CompletedProcess[str]:
    env: Mapping[str, str] = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    try:
        return subprocess.run(
            argv,
            env=dict(env),
            capture_output=True,
            text=True,
            timeout=60 * _MINUTES,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BadRequest(f"--torch cpu: {argv[0]} did not end well ({error})") from None
