"""The options that commands share, and what they turn into."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from mpslint.cli.parsing import BOOLEAN, Invalid
from mpslint.output import FORMATS, Style

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Sequence

    from mpslint.cli.parsing import Parser
    from mpslint.settings.file import SettingsFinder

_PATHS = ("baseline", "helper-module")
COLOR = ("auto", "always", "never")


def add_paths(into: Parser) -> None:
    into.add_argument(
        "paths", nargs="*", metavar="PATH", help="files and folders; `-` for stdin (default: .)"
    )


def add_settings(into: Parser) -> None:
    """Options that go over what settings files say: one for each key."""
    from mpslint.settings.table import EXTEND, KEYS

    group = into.add_argument_group("settings")
    for key, (_, allowed, about, _) in KEYS.items():
        kind, text = allowed.get("type"), about.replace("%", "%%")
        if kind == "boolean":
            group.add_argument(f"--{key}", action=BOOLEAN, help=text)
        elif kind in ("array", "object"):
            what = "GLOB:RULE" if kind == "object" else "LIST"
            group.add_argument(f"--{key}", action="append", metavar=what, help=text)
        elif key != EXTEND:
            what = "FILE" if key in _PATHS else "VALUE"
            group.add_argument(f"--{key}", metavar=what, help=text)
    group.add_argument(
        "--config",
        action="append",
        metavar="FILE|KEY=VALUE",
        help="use this settings file for every path, or set one key (repeatable)",
    )
    group.add_argument("--isolated", action="store_true", help="read no settings file")


def add_output(into: Parser) -> None:
    group = into.add_argument_group("output")
    group.add_argument(
        "--output-format",
        choices=FORMATS,
        default=_preset("output-format", "full", FORMATS),
        metavar="FORMAT",
        help=", ".join(FORMATS),
    )
    group.add_argument(
        "-o",
        "--output-file",
        metavar="FILE",
        default=_preset("output-file", None),
        help="write the findings there",
    )
    group.add_argument(
        "--color",
        choices=COLOR,
        default=_preset("color", "auto", COLOR),
        metavar="WHEN",
        help=", ".join(COLOR),
    )
    group.add_argument("--statistics", action="store_true", help="count findings per rule")
    group.add_argument("-q", "--quiet", action="store_true", help="print findings and errors only")
    group.add_argument("--exit-zero", action="store_true", help="exit 0 although findings are left")
    group.add_argument("--stdin-filename", metavar="PATH", help="the name of what stdin holds")


def add_running(into: Parser) -> None:
    group = into.add_argument_group("running")
    group.add_argument(
        "--no-cache",
        action="store_true",
        default=bool(_preset("no-cache", "")),
        help="neither read nor write the cache",
    )
    group.add_argument(
        "-j",
        "--jobs",
        type=_jobs,
        default=_preset_jobs(),
        metavar="N",
        help="processes",
    )
    group.add_argument(
        "--executor",
        type=_executor,
        metavar="ADDRESS",
        help="check on a Dask cluster instead: dask://HOST:PORT",
    )


def _preset(name: str, default: str | None, choices: Sequence[str] = ()) -> Any:
    """What an option is where it is not given: its variable's value. Raises `BadSettings`."""
    from mpslint.settings.environment import variable

    given = os.environ.get(variable(name)) or default
    if choices and given not in choices:
        from mpslint.errors import BadSettings

        raise BadSettings(f"{variable(name)} must be one of {', '.join(choices)}, not {given!r}")
    return given


def _preset_jobs() -> int:
    given = _preset("jobs", None)
    try:
        return 0 if given is None else _jobs(given)
    except Invalid as error:
        from mpslint.errors import BadSettings

        raise BadSettings(f"MPSLINT_JOBS: {error}") from None


def _jobs(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise Invalid(f"expected a number of processes, not {text!r}")
    return int(text)


def _executor(text: str) -> str:
    host, _, port = text.removeprefix("dask://").rpartition(":")
    if not (text.startswith("dask://") and host and port.isdigit()):
        raise Invalid(f"expected dask://HOST:PORT, not {text!r}")
    return text


def overrides(options: argparse.Namespace) -> dict[str, Any]:
    """The settings that options name, checked as in a settings file. Raises `BadSettings`."""
    from mpslint.settings.table import EXTEND, KEYS, convert, from_text

    changes: dict[str, Any] = {}
    for text in _inline(options):
        from mpslint.settings.file import inline

        changes |= inline(text, f"--config {text}")
    for key in KEYS:
        name = key.replace("-", "_")
        given = None if key == EXTEND else getattr(options, name)
        if isinstance(given, list):
            given = ",".join(given)
        if isinstance(given, str):
            changes[name] = from_text(key, given, f"--{key}")
        elif given is not None:
            changes[name] = convert(key, given, f"--{key}")
    return changes


def _inline(options: argparse.Namespace) -> list[str]:
    """Those of `--config` that set one key."""
    return [text for text in options.config or () if "=" in text and not os.path.exists(text)]


def find_settings(options: argparse.Namespace) -> SettingsFinder:
    """Where the settings of each path come from. Raises `BadSettings`."""
    from mpslint.settings.environment import unknown
    from mpslint.settings.file import SettingsFinder

    for line in unknown(os.environ):
        warn(line)
    set_here = _inline(options)
    files = [text for text in options.config or () if text not in set_here]
    if len(files) > 1:
        from mpslint.errors import BadSettings

        raise BadSettings(f"--config names two settings files, {files[0]} and {files[1]}")
    config = files[0] if files else None
    if config is not None and (options.isolated or not config):
        from mpslint.errors import BadSettings

        if config:
            raise BadSettings(f"--isolated reads no settings file, not {config}; leave out one")
        raise BadSettings("--config: expected a file or KEY=VALUE")
    return SettingsFinder(overrides(options), config=config, isolated=options.isolated)


def use_color(choice: str = "auto") -> bool:
    """Whether stdout shows colours: a terminal, unless NO_COLOR is set or TERM is dumb."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def columns() -> int | None:
    """The width of the terminal; None where the output goes elsewhere."""
    if not sys.stdout.isatty() and not os.environ.get("COLUMNS", "").isdigit():
        return None
    import shutil

    return shutil.get_terminal_size().columns


def style(options: argparse.Namespace, read: Callable[[str], str] | None = None) -> Style:
    """How results are shown: a file gets neither colours nor a width."""
    unsafe = bool(getattr(options, "unsafe_fixes", False))
    if options.output_file:
        return Style(unsafe=unsafe, read=read)
    return Style(use_color(options.color), unsafe, read, columns())


def on_terminal(lines: Iterable[str]) -> Iterable[str]:
    """Lines of a patch: as they are for a program, and for people what a terminal only shows."""
    if not sys.stdout.isatty():
        return lines
    from mpslint.basics.printable import printable

    return (f"{printable(line.rstrip().expandtabs())}\n" for line in lines)


def warn(message: str) -> None:
    from mpslint.basics.printable import printable

    print(f"warning: {printable(message)}", file=sys.stderr)
