"""The programs of `fixtures/harm`, which are right on a CPU, on a simulated Mac before and after
their fixes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from mpslint.fixing.fixing import Planned
from mpslint.project.project import Project
from mpslint.settings.settings import Settings
from mpslint.together.together import Job, Together

from .programs import SOURCE, TIMEOUT

PROGRAMS = Path(__file__).parents[2] / "fixtures" / "harm"
DRIVER = '''\
"""Runs each program of a list in this process, on whatever machine this is."""
import contextlib, io, json, os, runpy, sys, traceback

import torch
from torch.overrides import TorchFunctionMode

folders = json.load(open(sys.argv[1]))
target = os.path.abspath(sys.argv[2])


class Counting(TorchFunctionMode):
    """What torch is asked for, and gives on the GPU."""

    def __init__(self):
        super().__init__()
        self.on_gpu = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and str(result.device).startswith("mps"):
            self.on_gpu += 1
        return result


ended = {}
for folder in folders:
    known = set(sys.modules)
    os.chdir(folder)
    sys.path.insert(0, folder)
    sys.argv = ["main.py"]
    torch.manual_seed(0)
    out, counting, raised = io.StringIO(), Counting(), ""
    try:
        with contextlib.redirect_stdout(out), counting:
            runpy.run_path("main.py", run_name="__main__")
    except BaseException as error:
        raised = "".join(traceback.format_exception_only(type(error), error)).strip()
    torch.set_default_dtype(torch.float32)
    sys.path.remove(folder)
    for name in set(sys.modules) - known:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(folder):
            del sys.modules[name]
    ended[folder] = out.getvalue(), raised, counting.on_gpu
with open(target, "w") as stream:
    json.dump(ended, stream)
'''


class Ended(NamedTuple):
    printed: str
    raised: str
    """The error that ended it; empty: none did."""
    on_gpu: int
    """How often torch gave a tensor of the GPU."""


class Fixed(NamedTuple):
    """One program, as it is and fixed."""

    name: str
    before: Ended
    after: Ended
    changed: tuple[str, ...]
    """Its files that were fixed."""
    said: tuple[str, ...]
    """What the applied fixes say of themselves, where they are not safe."""

    @property
    def harmed(self) -> bool:
        """It ran through, and fixed it raises or prints something else."""
        return not self.before.raised and (
            bool(self.after.raised) or self.after.printed != self.before.printed
        )


def fixed_programs(folder: Path, *, unsafe: bool) -> list[Fixed]:
    """All programs, before and after their fixes."""
    plain, fixed = folder / "plain", folder / "fixed"
    shutil.copytree(PROGRAMS, plain)
    shutil.copytree(PROGRAMS, fixed)
    names = sorted(path.name for path in fixed.iterdir())
    changed = {name: _fix(fixed / name, unsafe=unsafe) for name in names}
    folders = [str(root / name) for root in (plain, fixed) for name in names]
    ended = _run(folders, folder)
    return [
        Fixed(name, ended[str(plain / name)], ended[str(fixed / name)], *changed[name])
        for name in names
    ]


def _fix(root: Path, *, unsafe: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Fixes the files of a program together."""
    settings = Settings(root=str(root))
    together = Together(lambda settings, texts: Project(settings, texts))
    for path in sorted(root.rglob("*.py")):
        together.add(Job(str(path), path.read_bytes(), settings))
    changed, said = [], []
    for name, planned in together.planned(unsafe=unsafe).items():
        assert isinstance(planned, Planned), planned
        if planned.changed:
            Path(name).write_bytes(planned.after)
            changed.append(Path(name).relative_to(root).as_posix())
            said += [
                one.message for one in planned.result.applied if one.applicability.label != "safe"
            ]
    return tuple(changed), tuple(said)


def _run(folders: list[str], folder: Path) -> dict[str, Ended]:
    (folder / "driver.py").write_text(DRIVER, encoding="utf-8")
    (folder / "folders.json").write_text(json.dumps(folders), encoding="utf-8")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTORCH_")}
    environment |= {"PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "mpslint.verify.harness", "--device", "mps", "--steps", "0"]
    done = subprocess.run(
        [*command, "--report", "report.json", "driver.py", "folders.json", "ended.json"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        stdin=subprocess.DEVNULL,
    )
    if not (folder / "ended.json").exists():
        raise RuntimeError(f"the programs did not run: {done.stderr[-2000:]}")
    ended = json.loads((folder / "ended.json").read_text(encoding="utf-8"))
    return {name: Ended(*how) for name, how in ended.items()}
