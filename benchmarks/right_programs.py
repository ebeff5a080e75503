"""Right programs: what `mpslint fix` makes of each must pass on every device.

    python benchmarks/right_programs.py [--only WORD] [--jobs N] [--devices LIST]

Ports every program below fixtures/verify with the command line, in a copy, then verifies original
and port with the negative control: safe fixes first, unsafe ones as well where that does not pass.
Prints a line per program; exit code 1 when one did not pass. Two idle cores need about 40 minutes
for all of them.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from mpslint.verify import Request, verify

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "verify"


class Program(NamedTuple):
    """A folder with files written for CUDA, the script to start and its arguments."""

    name: str
    files: tuple[Path, ...]
    script: Path
    arguments: tuple[str, ...] = ()


class Row(NamedTuple):
    """What came of one program; `fixes` is "safe" or "unsafe"."""

    program: str
    verdict: str
    reason: str
    fixes: str
    seconds: float


def programs() -> Iterator[Program]:
    for folder in _folders("projects"):
        given = folder / "arguments.txt"
        arguments = tuple(given.read_text().split()) if given.exists() else ()
        files = tuple(path for path in sorted(folder.rglob("*")) if path.is_file())
        yield Program(folder.name, files, folder / "main.py", arguments)
    for folder in _folders("programs"):
        script = folder / "original.py"
        yield Program(folder.name, (script,), script)


def _folders(name: str) -> list[Path]:
    return [path for path in sorted((FIXTURES / name).iterdir()) if path.name[0] != "."]


def port(program: Program, unsafe: bool) -> dict[str, bytes]:
    """Absolute path -> new bytes of each file that `mpslint fix` changes or makes."""
    home = program.script.parent
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch).resolve() / program.name
        for path in program.files:
            target = copy / path.relative_to(home)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        _fix(copy, unsafe)
        found = {home / path.relative_to(copy): path.read_bytes() for path in copy.rglob("*.py")}
    before = {path: path.read_bytes() for path in program.files}
    return {str(path): text for path, text in found.items() if before.get(path) != text}


def _fix(folder: Path, unsafe: bool) -> None:
    command = [sys.executable, "-m", "mpslint", "fix", "--isolated", "--no-cache", "--no-verify"]
    command += ["--exit-zero", *(["--unsafe-fixes"] if unsafe else []), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"mpslint fix ended with {done.returncode}: {done.stderr.strip()}")


def check(program: Program, devices: tuple[str, ...]) -> Row:
    began = time.monotonic()
    patched = port(program, unsafe=False)
    row = _verified(program, devices, patched, "safe")
    if row.verdict != "pass":
        more = port(program, unsafe=True)
        row = _verified(program, devices, more, "unsafe") if more != patched else row
    return row._replace(seconds=time.monotonic() - began)


def _verified(
    program: Program, devices: tuple[str, ...], patched: dict[str, bytes], fixes: str
) -> Row:
    if not patched:
        return Row(program.name, "not ported", "mpslint fix changes nothing", fixes, 0.0)
    request = Request(
        str(program.script),
        args=program.arguments,
        devices=devices,
        patched=patched,
        root=str(program.script.parent),
        timeout=120.0,
    )
    report = verify(request)
    reason = report.reason or "; ".join(dict.fromkeys(run.reason for run in report.runs))
    return Row(program.name, report.verdict, reason, fixes, 0.0)


def line(row: Row) -> str:
    mark = "    " if row.verdict == "pass" else "BAD "
    timing = f"{row.seconds:4.0f} s"
    return f"{mark}{row.program:25} {row.verdict:13} {timing}  {row.fixes:7} {row.reason}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a part of the program's name")
    parser.add_argument("--devices", default="cpu,mps,cuda")
    parser.add_argument("--jobs", type=int, default=1, help="programs at a time")
    options = parser.parse_args()
    chosen = [program for program in programs() if options.only in program.name]
    devices = tuple(options.devices.split(","))
    rows = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for row in pool.map(lambda program: check(program, devices), chosen):
            rows.append(row)
            print(line(row), flush=True)
    passed = [row for row in rows if row.verdict == "pass"]
    safe = sum(row.fixes == "safe" for row in passed)
    print(f"right programs: {len(passed)} of {len(rows)} pass, {safe} of them with safe fixes only")
    return 0 if len(passed) == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
