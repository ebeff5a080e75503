"""The options that commands share, and what they turn into."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from mpslint.cli.parsing import BOOLEAN, Invalid
from mpslint.output import FORMATS, Style

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from mpslint.cli.parsing import Parser
    from mpslint.cli.progress import Progress
    from mpslint.settings_file import SettingsFinder

_LISTS = ("select", "extend-select", "ignore", "exclude", "extend-exclude")
_VALUES = {
    "severity": ("LEVEL", "report only findings at least this bad: slow, ignores, breaks"),
    "min-confidence": ("LEVEL", "report only findings at least this sure: inferred, certain"),
    "min-torch": ("X.Y", "oldest torch version that the code must run on"),
    "max-torch": ("X.Y", "newest torch version that the code must run on"),
    "device-name": ("NAME", "name of an inserted device variable"),
    "style": ("STYLE", "how a device is selected: inline, helper, accelerator"),
    "helper-module": ("PATH", "module that holds the helper in style helper"),
}


def add_paths(into: Parser) -> None:
    into.add_argument(
        "paths", nargs="*", metavar="PATH", help="files and folders; `-` for stdin (default: .)"
    )


def add_settings(into: Parser) -> None:
    """Options that go over what settings files say."""
    group = into.add_argument_group("settings")
    for name in _LISTS:
        what = "rules" if name in _LISTS[:3] else "globs"
        group.add_argument(
            f"--{name}", action="append", metavar=what.upper(), help=f"{what}, comma-separated"
        )
    group.add_argument(
        "--device-order", action="append", metavar="DEVICES", help="such as mps,cuda,cpu"
    )
    for name, (metavar, text) in _VALUES.items():
        group.add_argument(f"--{name}", metavar=metavar, help=text)
    for name in ("respect-gitignore", "force-exclude"):
        group.add_argument(f"--{name}", action=BOOLEAN)
    group.add_argument("--config", metavar="FILE", help="use this settings file for every path")
    group.add_argument("--isolated", action="store_true", help="read no settings file")


def add_output(into: Parser) -> None:
    group = into.add_argument_group("output")
    group.add_argument("--output-format", choices=FORMATS, default="full", metavar="FORMAT")
    group.add_argument("--statistics", action="store_true", help="count findings per rule")
    group.add_argument("-q", "--quiet", action="store_true", help="print findings and errors only")
    group.add_argument("--exit-zero", action="store_true", help="exit 0 although findings are left")
    group.add_argument("--stdin-filename", metavar="PATH", help="the name of what stdin holds")


def add_running(into: Parser) -> None:
    group = into.add_argument_group("running")
    group.add_argument("--no-cache", action="store_true", help="neither read nor write the cache")
    group.add_argument("-j", "--jobs", type=_jobs, default=0, metavar="N", help="processes")
    group.add_argument(
        "--executor",
        type=_executor,
        metavar="ADDRESS",
        help="check on a Dask cluster instead: dask://HOST:PORT",
    )


def _jobs(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise Invalid(f"expected a number of processes, not {text!r}")
    return int(text)


def _executor(text: str) -> str:
    host, _, port = text.removeprefix("dask://").rpartition(":")
    if not (text.startswith("dask://") and host and port.isdigit()):
        raise Invalid(f"expected dask://HOST:PORT, not {text!r}")
    return text


def progress() -> Progress | None:
    """A line about how far a long run is, where stderr is a terminal."""
    if not sys.stderr.isatty():
        return None
    from mpslint.cli.progress import Progress

    return Progress()


def overrides(options: argparse.Namespace) -> dict[str, Any]:
    """The settings that options name, checked as in a settings file. Raises `BadSettings`."""
    given: dict[str, Any] = {}
    for name in (*_LISTS, "device-order"):
        lists = getattr(options, name.replace("-", "_"))
        if lists is not None:
            given[name] = [part for text in lists for part in text.split(",") if part]
    for name in (*_VALUES, "respect-gitignore", "force-exclude"):
        value = getattr(options, name.replace("-", "_"))
        if value is not None:
            given[name] = value
    if not given:
        return {}
    from mpslint.settings_table import convert

    return {key.replace("-", "_"): convert(key, value, "--" + key) for key, value in given.items()}


def find_settings(options: argparse.Namespace) -> SettingsFinder:
    """Where the settings of each path come from. Raises `BadSettings`."""
    from mpslint.settings_file import SettingsFinder

    return SettingsFinder(overrides(options), config=options.config, isolated=options.isolated)


def use_color() -> bool:
    """Whether stdout shows colours: a terminal, unless NO_COLOR is set or TERM is dumb."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def style(options: argparse.Namespace, read: Callable[[str], str] | None = None) -> Style:
    return Style(use_color(), bool(getattr(options, "unsafe_fixes", False)), read)


def warn(message: str) -> None:
    print(f"warning: {message}", file=sys.stderr)
