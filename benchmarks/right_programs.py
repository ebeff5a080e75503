"""Right programs: what `mpslint fix` makes of each must pass on every device.

    python benchmarks/right_programs.py [--only WORD] [--jobs N] [--devices LIST] [--python PYTHON]

Ports every program below fixtures/verify with the command line, in a copy, then verifies original
and port with the negative control: safe fixes first, unsafe ones as well where that does not pass.
A port of which mpslint itself still says that it breaks is no right program: it must not pass.
Prints a line per program; exit code 1 when a verdict is wrong. Two idle cores need about 40 minutes
for all of them.
"""

from __future__ import annotations

import argparse
import json
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
    """A folder with files written for CUDA, the script to start and its arguments; where it is
    asked for a GPU and refuses the CPU by itself, the devices that it runs on (`devices.txt`).
    """

    name: str
    files: tuple[Path, ...]
    script: Path
    arguments: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()


class Port(NamedTuple):
    """Absolute path -> new bytes of each file that `mpslint fix` changes or makes; how many
    findings are left that break on another device.
    """

    patched: dict[str, bytes]
    breaks: int


class Row(NamedTuple):
    """What came of one program; `fixes` is "safe" or "unsafe"."""

    program: str
    verdict: str
    reason: str
    fixes: str
    breaks: int
    seconds: float = 0.0

    @property
    def good(self) -> bool:
        return (self.verdict == "pass") == (self.breaks == 0)


def programs() -> Iterator[Program]:
    for folder in _folders("projects"):
        arguments, devices = _words(folder / "arguments.txt"), _words(folder / "devices.txt")
        files = tuple(path for path in sorted(folder.rglob("*")) if path.is_file())
        yield Program(folder.name, files, folder / "main.py", arguments, devices)
    for folder in _folders("programs"):
        script = folder / "original.py"
        yield Program(folder.name, (script,), script)


def _words(file: Path) -> tuple[str, ...]:
    return tuple(file.read_text().split()) if file.exists() else ()


def _folders(name: str) -> list[Path]:
    return [path for path in sorted((FIXTURES / name).iterdir()) if path.name[0] != "."]


def port(program: Program, unsafe: bool) -> Port:
    home = program.script.parent
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch).resolve() / program.name
        for path in program.files:
            target = copy / path.relative_to(home)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        _mpslint("fix", "--no-verify", *(["--unsafe-fixes"] if unsafe else []), str(copy))
        left = json.loads(_mpslint("check", "--output-format", "json", str(copy)))
        found = {home / path.relative_to(copy): path.read_bytes() for path in copy.rglob("*.py")}
    before = {path: path.read_bytes() for path in program.files}
    patched = {str(path): text for path, text in found.items() if before.get(path) != text}
    return Port(patched, sum(finding["severity"] == "breaks" for finding in left))


def _mpslint(command: str, *options: str) -> str:
    """Run the command line with default settings; what it prints."""
    argv = [sys.executable, "-m", "mpslint", command, "--isolated", "--no-cache", "--exit-zero"]
    done = subprocess.run([*argv, *options], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"mpslint {command} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def check(program: Program, devices: tuple[str, ...], python: str | None) -> Row:
    began = time.monotonic()
    ported = port(program, unsafe=False)
    row = _verified(program, devices, ported, "safe", python)
    if row.verdict != "pass":
        more = port(program, unsafe=True)
        row = _verified(program, devices, more, "unsafe", python) if more != ported else row
    return row._replace(seconds=time.monotonic() - began)


def _verified(
    program: Program, devices: tuple[str, ...], ported: Port, fixes: str, python: str | None
) -> Row:
    if not ported.patched:
        return Row(program.name, "not ported", "no fix", fixes, ported.breaks)
    request = Request(
        str(program.script),
        args=program.arguments,
        devices=tuple(d for d in devices if not program.devices or d in program.devices),
        patched=ported.patched,
        root=str(program.script.parent),
        python=python,
    )
    report = verify(request)
    reason = report.reason or "; ".join(dict.fromkeys(run.reason for run in report.runs))
    return Row(program.name, report.verdict, reason, fixes, ported.breaks)


def line(row: Row) -> str:
    mark = "    " if row.good else "BAD "
    left = f"{row.breaks} findings left; " if row.breaks else ""
    what = f"{row.program:25} {row.verdict:13} {row.seconds:4.0f} s  {row.fixes:7}"
    return f"{mark}{what} {left}{row.reason}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a part of the program's name")
    parser.add_argument("--devices", default="cpu,mps,cuda")
    parser.add_argument("--jobs", type=int, default=1, help="programs at a time")
    parser.add_argument("--python", help="whose torch is used; default: this one's")
    options = parser.parse_args()
    chosen = [program for program in programs() if options.only in program.name]
    devices = tuple(options.devices.split(","))
    rows = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for row in pool.map(lambda program: check(program, devices, options.python), chosen):
            rows.append(row)
            print(line(row), flush=True)
    right = [row for row in rows if not row.breaks]
    passed = [row for row in right if row.verdict == "pass"]
    safe = sum(row.fixes == "safe" for row in passed)
    print(
        f"right programs: {len(passed)} of {len(right)} pass, {safe} of them with safe fixes only"
    )
    wrong = [row.program for row in rows if row.breaks and not row.good]
    print(f"programs that no fix ports wholly: {len(wrong)} of {len(rows) - len(right)} pass")
    return 0 if all(row.good for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
