"""Whether verification works with some Python: an empty script tries each device (`doctor`)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple

from mpslint.verify.request import located

_SECONDS = 180
_HARNESS = os.path.join(os.path.dirname(__file__), "harness")


class Trial(NamedTuple):
    """A device: whether it can be simulated, and if not, why."""

    device: str
    works: bool
    why: str = ""


def simulated(python: str, device: str) -> Trial:
    """Try one device in a fresh process of that Python, with the harness's own self-test."""
    with tempfile.TemporaryDirectory() as folder:
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(_HARNESS, os.path.join(folder, "mpslint_harness"), ignore=ignore)
        report = os.path.join(folder, "report.json")
        script = os.path.join(folder, "script.py")
        with open(script, "w", encoding="utf-8") as stream:
            stream.write("import torch\n")
        argv = [located(python), "-m", "mpslint_harness", "--device", device]
        argv += ["--report", report, script]
        path = os.pathsep.join(p for p in (folder, os.environ.get("PYTHONPATH", "")) if p)
        env = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                argv, env=env, capture_output=True, text=True, timeout=_SECONDS, cwd=folder,
                stdin=subprocess.DEVNULL,
            )  # fmt: skip
            with open(report, encoding="utf-8") as stream:
                told = json.load(stream)
        except subprocess.TimeoutExpired:
            return Trial(device, False, f"no answer in {_SECONDS} s")
        except (OSError, ValueError):
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            return Trial(device, False, f"it ended with {done.returncode}: {last[:200]}")
    if told["outcome"] == "finished":
        return Trial(device, True)
    error = told.get("error") or {}
    return Trial(device, False, str(error.get("message") or told["outcome"])[:300])


def advice() -> str:
    """What to do where a device cannot be simulated."""
    if sys.platform == "darwin":
        return "A real Mac GPU is used where torch sees one; verify elsewhere for the rest."
    return "To get a verdict all the same: mpslint verify --torch cpu SCRIPT"
