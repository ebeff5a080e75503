"""The command line of the harness, and how child processes inherit it."""

from __future__ import annotations

import argparse
import json
import os
from typing import NamedTuple

ENVIRONMENT_KEY = "MPSLINT_HARNESS"

EXIT_LIMIT = 96
EXIT_UNAVAILABLE = 97
EXIT_NO_TORCH = 98


class Options(NamedTuple):
    """What to run and how; ``steps`` and ``seconds`` of 0 mean no limit."""

    device: str
    report: str | None = None
    channel: int | None = None
    real: bool = False
    steps: int = 3
    seconds: float = 0.0
    torch_version: str | None = None
    spawn: bool = False
    trace: bool = False
    record: str | None = None
    lines: str | None = None
    forwards: int = 0
    patience: float = 0.0
    sample: int = 0
    nudge: int = 0
    full_precision: bool = False
    project: str | None = None
    script: str = ""
    args: list[str] = []  # noqa: RUF012 - a NamedTuple default that is never changed
    children: str | None = None
    visible_devices: str | None = None

    @property
    def reports(self) -> bool:
        """Whether anybody wants to hear what the run did."""
        return self.report is not None or self.channel is not None

    @property
    def kind(self) -> str:
        """``simulated``, ``real`` or ``cpu``, as the report names it."""
        if self.device == "cpu":
            return "cpu"
        return "real" if self.real else "simulated"


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative; 0 means no limit")
    return value


def _version(text: str) -> str:
    parts = text.split(".")
    if len(parts) < 2 or not all(part.isdigit() for part in parts[:2]):
        raise argparse.ArgumentTypeError(f"{text!r} is not a torch version such as 2.13")
    return ".".join(parts[:2])


def parse(argv: list[str]) -> Options:
    """Read the command line; raises SystemExit(2) with a usage line when it is wrong."""
    parser = argparse.ArgumentParser(
        prog="mpslint.verify.harness",
        description="Run an unmodified script on a simulated (or real) device and report on it.",
    )
    parser.add_argument("--device", choices=["cpu", "mps", "cuda"], required=True)
    parser.add_argument("--report", metavar="FILE", help="write the JSON report here")
    parser.add_argument(
        "--channel", type=int, metavar="FD", help="tell the report over this socket instead"
    )
    parser.add_argument("--real", action="store_true", help="use the real device")
    parser.add_argument(
        "--steps", type=_count, default=3, help="end after N optimizer steps (0: no limit)"
    )
    parser.add_argument(
        "--seconds", type=float, default=0.0, help="end after S seconds (0: no limit)"
    )
    parser.add_argument(
        "--torch-version", type=_version, metavar="X.Y", help="operator table to enforce"
    )
    parser.add_argument("--spawn", action="store_true", help="start processes as macOS does")
    parser.add_argument("--trace", action="store_true", help="record every device operation")
    parser.add_argument("--record", metavar="DIR", help="where the script leaves its tensors")
    parser.add_argument("--lines", metavar="FILE", help="tell which of these lines ran (JSON)")
    parser.add_argument(
        "--forwards", type=_count, default=0, help="without training: end after N forward passes"
    )
    parser.add_argument(
        "--patience", type=float, default=0.0, help="end at the first step after S seconds"
    )
    parser.add_argument(
        "--sample", type=_count, default=0, help="go through long loops in part: N rounds (0: all)"
    )
    parser.add_argument(
        "--nudge",
        type=_count,
        default=0,
        help="move weights by rounding errors, that way (0: not)",
    )
    parser.add_argument("--full-precision", action="store_true", help="without autocast")
    parser.add_argument("--project", metavar="DIR", help="whose loops those are")
    parser.add_argument("script")
    parser.add_argument("args", nargs=argparse.REMAINDER)
    values = vars(parser.parse_args(argv))
    if values["report"]:
        values["report"] = os.path.abspath(values["report"])
    return Options(**values)


def to_environment(options: Options, folder: str) -> None:
    """Leave the options, and the folder of this package, where child processes find them."""
    os.environ[ENVIRONMENT_KEY] = json.dumps(
        {"folder": folder, **options._replace(channel=None)._asdict()}
    )


def from_environment() -> Options:
    """The options that the launching process left; raises KeyError when there are none."""
    values = json.loads(os.environ[ENVIRONMENT_KEY])
    values.pop("folder")
    return Options(**values)
