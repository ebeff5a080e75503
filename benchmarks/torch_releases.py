"""What the contract programs of the simulated devices make of other releases of torch.

    python benchmarks/torch_releases.py PYTHON [PYTHON ...] [--show]

Each program of tests/harness/programs runs on a simulated device with this Python's torch, whose
outcomes the tests hold against real GPUs, and with that of each Python that is named. The table
counts cases that ended otherwise; `--show` lists them. No GPU is visible.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LENGTH = 160
PROGRAMS = {"mixed_devices": "cuda", "cuda_contract": "cuda", "mps_contract": "mps"}


def ran(python: str, program: str, device: str, folder: Path) -> dict[str, Any] | None:
    """What a program prints, case by case; None where the device does not hold."""
    script = str(ROOT / "tests" / "harness" / "programs" / f"{program}.py")
    command = [python, "-m", "mpslint.verify.harness", "--report", str(folder / "report.json")]
    command += ["--steps", "0", "--device", device, script]
    done = subprocess.run(
        [*command, "cuda"] if program == "mixed_devices" else command,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT / "src"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OMP_NUM_THREADS": "1",
            "CUDA_VISIBLE_DEVICES": "",
        },
        cwd=folder,
        capture_output=True,
        text=True,
    )
    printed = [line.removeprefix("RESULTS ") for line in done.stdout.splitlines()]
    found = [line for line in printed if line.startswith("{")]
    return flat(json.loads(found[-1])) if found else None


def flat(told: dict[str, Any]) -> dict[str, Any]:
    """Cases by name: one of the programs prints them by kind. Of a message its beginning, since the
    rest names commits and files of the build.
    """
    found: dict[str, Any] = {}
    for name, value in told.items():
        if "syncs" in told and isinstance(value, dict):
            found.update({f"{name}: {case}": short(one) for case, one in value.items()})
        elif "syncs" not in told:
            found[name] = short(value)
    return found


def short(outcome: Any) -> str:
    return json.dumps(outcome, sort_keys=True)[:LENGTH]


def version(python: str) -> str:
    code = "import torch; print(torch.__version__)"
    return subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pythons", nargs="+", metavar="PYTHON")
    parser.add_argument("--show", action="store_true", help="the cases that ended otherwise")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ours = {p: ran(sys.executable, p, device, folder) or {} for p, device in PROGRAMS.items()}
        print(f"beside {version(sys.executable)}: {[len(cases) for cases in ours.values()]} cases")
        for python in given.pythons:
            row = [version(python)]
            shown = []
            for program, device in PROGRAMS.items():
                theirs = ran(python, program, device, folder)
                if theirs is None:
                    row.append("–")
                    continue
                other = [case for case in ours[program] if theirs.get(case) != ours[program][case]]
                row.append(str(len(other)))
                shown += [f"  {c}: {theirs.get(c)} for {ours[program][c]}" for c in other]
            print(f"| {' | '.join(row)} |", *(shown if given.show else ()), sep="\n", flush=True)


if __name__ == "__main__":
    main()
