"""Launches made by hand for the verdict's rules, and commands run in the real sandbox."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from mpslint.verify.isolation import describe
from mpslint.verify.launch import Launch
from mpslint.verify.sandbox import process
from mpslint.verify.sandbox.process import SHARED_SCRATCH, Command, Ended, Limits, Places
from mpslint.verify.sandbox.wardens import ForkServer

linux = pytest.mark.skipif(sys.platform != "linux", reason="the isolation of Linux")
both_ways = pytest.mark.parametrize("namespaces", [True, False], ids=["namespaces", "fallback"])
FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "verify"
LIMIT = 60.0


def ended(**changes: Any) -> Ended:
    plain = Ended(0, None, None, 3.0, 0, "", "", 0, "", {"nothing_left": True})
    return plain._replace(**changes)


def launch(device: str = "mps", *, ending: Ended | None = None, **report: Any) -> Launch:
    """A run of three training steps that went well, but for what the test changes."""
    good = {
        "outcome": "stopped",
        "exit_code": 0,
        "error": None,
        "steps": 3,
        "forwards": 3,
        "device_ops": 0 if device == "cpu" else 60,
        "parameters_on_device": 0 if device == "cpu" else 4,
        "losses": [0.9, 0.8, 0.7],
        "params_digest": [
            {"step": 1, "l2": 2.0, "sum": 1.0},
            {"step": 2, "l2": 1.9, "sum": 0.9},
        ],
        "device_calls": [],
        "limits": [],
        "notes": [],
    }
    kind = "cpu" if device == "cpu" else "simulated"
    return Launch(device, kind, ending or ended(), {**good, **report}, {}, LIMIT)


def raised(kind: str, message: str, **more: Any) -> dict[str, Any]:
    """The part of a report that tells of an exception at train.py:7 (or another `line`)."""
    line = more.pop("line", 7)
    error = {"type": kind, "message": message, "file": "train.py", "line": line, "traceback": ""}
    return {"outcome": "error", "exit_code": 1, "error": error, **more}


def contained(run: Ended, what: str) -> bool:
    """Whether the sandbox claims that this is out of reach: the tests hold it to its claims."""
    assert run.broken is None, run.broken
    if run.isolation.get(what):
        return True
    told = " ".join(describe(run.isolation, 1, 1, 1, 1).missing)
    assert told, f"{what} is not isolated, and the report does not say so"
    return False


class Sandboxed:
    """Folders for one command and a way to run Python code in them."""

    def __init__(self, base: Path, server: ForkServer | None = None) -> None:
        self.base, self.server = base, server
        for name in ("project", "home", "tmp", "outside", "user"):
            (base / name).mkdir()
        self.project, self.outside, self.user = (base / n for n in ("project", "outside", "user"))

    def run(
        self,
        code: str,
        namespaces: bool = True,
        guarded: Sequence[str] = (),
        **limits: Any,
    ) -> Ended:
        given = Limits(
            timeout=300.0, address_space=3 << 30, memory=1 << 30, processes=400, disk=64 << 20
        )
        writable = [str(self.base / name) for name in ("project", "home", "tmp")]
        needed = dict.fromkeys(
            os.path.realpath(path)
            for path in (sys.prefix, sys.base_prefix, os.path.dirname(os.__file__))
        )
        places = Places(
            writable=writable,
            hidden=[str(self.user)],
            keep=[*needed, str(self.outside)],
            scratch={p: str(self.base / "tmp") for p in SHARED_SCRATCH if os.path.isdir(p)},
            guarded=[str(self.outside), *guarded],
            private=[str(self.user)],
        )
        env = {
            "HOME": str(self.base / "home"),
            "TMPDIR": str(self.base / "tmp"),
            "PATH": "/usr/bin:/bin",
        }
        argv = [os.path.realpath(sys.executable), "-I", "-S", "-c", code]
        command = Command(argv, str(self.project), env, places, given._replace(**limits))
        command = command._replace(server=self.server)
        return process.attempt(command, namespaces=namespaces)


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer]:
    """A process without torch, whose forks run code instead of scripts."""
    folder = os.path.dirname(os.path.abspath(__file__))
    env = {"PYTHONPATH": folder, "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    server = ForkServer(os.path.realpath(sys.executable), env, folder, "forked_code", [])
    assert server.about() == {"loaded": []}
    yield server
    server.close()


@pytest.fixture(params=["executed", pytest.param("forked", marks=linux)])
def sandbox(request: pytest.FixtureRequest, tmp_path: Path) -> Sandboxed:
    """Both ways in which a command comes about."""
    forked = request.param == "forked"
    return Sandboxed(tmp_path, request.getfixturevalue("fork_server") if forked else None)


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str, str], str]:
    """Write a file of a small project and give its path."""

    def write(name: str, text: str) -> str:
        path = tmp_path / "work" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path)

    return write
