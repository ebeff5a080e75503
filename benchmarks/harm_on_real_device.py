"""The programs of `fixtures/harm` on this machine's GPU of CUDA, as they are and safely fixed.

    python benchmarks/harm_on_real_device.py [--jobs 4] [--only WORD]

Each runs in a process of its own, with the same seeds. What it prints and how it ends are compared;
one that differs from itself in a second run is named apart, and so is one for which torch gives
another number of tensors of the GPU (a cast before a move makes one less). Exit code 1 where a
fixed program does something else, 2 where nothing came to a GPU.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mpslint.cli import run as mpslint

PROGRAMS = Path(__file__).resolve().parents[1] / "fixtures" / "harm"
RUNNER = """
import contextlib, io, json, random, runpy, sys, traceback
import torch
from torch.overrides import TorchFunctionMode
try:
    import numpy
    numpy.random.seed(0)
except ImportError:
    pass
random.seed(0)
torch.manual_seed(0)

class Counting(TorchFunctionMode):
    on_gpu = 0
    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and result.is_cuda:
            Counting.on_gpu += 1
        return result

sys.path.insert(0, "")
sys.argv = ["main.py"]
out, raised = io.StringIO(), ""
try:
    with contextlib.redirect_stdout(out), Counting():
        runpy.run_path("main.py", run_name="__main__")
except BaseException as error:
    raised = "".join(traceback.format_exception_only(type(error), error)).strip()
print(json.dumps([out.getvalue(), raised, Counting.on_gpu]))
"""
Ended = tuple[str, str, int]
"""What was printed, the error that ended it, and how many tensors of the GPU there were."""


def ended(folder: Path) -> Ended:
    ran = subprocess.run(
        [sys.executable, "-c", RUNNER],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "CUBLAS_WORKSPACE_CONFIG": ":4096:8"},
    )
    lines = ran.stdout.strip().splitlines()
    if not lines:
        return "", ran.stderr.strip()[-200:], 0
    printed, raised, on_gpu = json.loads(lines[-1])
    return printed, raised, on_gpu


def fixed(folder: Path) -> bool:
    """Makes the safe fixes of a program; whether there were some."""
    before = {path: path.read_bytes() for path in folder.rglob("*.py")}
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        mpslint(["fix", "--no-verify", "--no-cache", "--isolated", "-q", str(folder)])
    after = {path: path.read_bytes() for path in folder.rglob("*.py")}
    return before != after


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=4, help="programs at a time")
    parser.add_argument("--only", default="", help="a part of the program's name")
    asked = parser.parse_args()
    names = sorted(path.name for path in PROGRAMS.iterdir() if asked.only in path.name)
    with tempfile.TemporaryDirectory() as place:
        top = Path(place)
        changed = []
        for name in names:
            for kind in ("original", "again", "fixed"):
                shutil.copytree(PROGRAMS / name, top / kind / name)
            if fixed(top / "fixed" / name):
                changed.append(name)
        kinds = ("original", "again", "fixed")
        with ThreadPoolExecutor(asked.jobs) as pool:
            found = {
                kind: dict(
                    zip(
                        changed,
                        pool.map(lambda name, kind=kind: ended(top / kind / name), changed),
                        strict=True,
                    )
                )
                for kind in kinds
            }
    raising = [name for name in changed if found["original"][name][1]]
    ran = [name for name in changed if name not in raising]
    unlike = [name for name in ran if found["original"][name] != found["again"][name]]
    alike = [name for name in ran if name not in unlike]
    other = [name for name in alike if found["original"][name][:2] != found["fixed"][name][:2]]
    counted = [name for name in alike if found["original"][name][2] != found["fixed"][name][2]]
    used = [name for name in changed if found["fixed"][name][2]]
    print(f"programs: {len(names)}, with safe fixes: {len(changed)}, of these run: {len(ran)}")
    print(f"the same, original and fixed: {len(alike) - len(other)} of {len(alike)}")
    print(f"differ from themselves: {len(unlike)} {' '.join(unlike)}")
    print(f"use the GPU once fixed: {len(used)}")
    print(f"other numbers of tensors on it: {len(counted)} {' '.join(counted)}")
    for name in raising:
        print(
            f"{name} raises as it is, {found['original'][name][1]}; fixed: {found['fixed'][name]}"
        )
    for name in other:
        print(f"{name}: {found['original'][name]} became {found['fixed'][name]}")
    if not used:
        print("nothing came to a GPU of CUDA: nothing was compared", file=sys.stderr)
        return 2
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main())
