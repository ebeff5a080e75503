"""What options ask for together, looked at before anything takes long."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mpslint.errors import MpslintError

if TYPE_CHECKING:
    import argparse

_SOURCES = (".py", ".pyi", ".ipynb")


class Usage(MpslintError):
    """Options that do not go together, or name what cannot be."""


def settle(options: argparse.Namespace) -> None:
    """Raise `Usage` for what `check` and `fix` can tell from their options alone; a name for stdin
    means stdin."""
    name = options.stdin_filename
    if name is not None:
        options.paths = options.paths or ["-"]
        if "-" not in options.paths:
            raise Usage("--stdin-filename names what stdin holds; give `-` in place of the paths")
        if not name or os.path.isdir(name):
            raise Usage(f"--stdin-filename {name!r}: is not the name of a file")
    if options.output_file:
        require_writable(options.output_file, options.paths)


def require_writable(path: str, read: list[str]) -> None:
    """Raise `Usage` where a file of results cannot be made, or is one of the files that are `read`
    and would be lost."""
    if os.path.isdir(path):
        raise Usage(f"{path}: cannot be written: is a directory")
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise Usage(f"{path}: cannot be written: there is no folder {folder}")
    if not os.path.isfile(path):
        return
    real = os.path.realpath(path)
    if path.endswith(_SOURCES) or real in map(os.path.realpath, read):
        raise Usage(f"{path}: is source code, which results do not go over; name another file")


_ABOUT_A_RUN = (
    "device",
    "python",
    "torch",
    "simulate",
    "steps",
    "allow_partial",
    "timeout",
    "memory",
    "setup",
    "env",
)


def settle_fix(options: argparse.Namespace) -> None:
    """Raise `Usage` for what `fix` can tell from its own options."""
    if options.entry is not None:
        if options.verify is False:
            raise Usage("--entry and --no-verify cannot be given together")
        require_script(options.entry, "--entry")
    if not options.report:
        return
    if options.diff:
        raise Usage("--report tells what was written, and --diff writes nothing; leave out one")
    require_writable(options.report, options.paths)


def require_script(path: str, option: str) -> None:
    """Raise `Usage` unless an option names a file that can be run."""
    if os.path.isdir(path):
        raise Usage(f"{option} {path}: is a folder; name the script in it that is to be run")
    if not os.path.isfile(path):
        raise Usage(f"{option} {path or repr(path)}: no such script; name the file to run")


def require_nothing_about_a_run(options: argparse.Namespace) -> None:
    """Raise `Usage` where nothing is run, and options say how."""
    given = [f"--{name.replace('_', '-')}" for name in _ABOUT_A_RUN if getattr(options, name, None)]
    if getattr(options, "script_arguments", None):
        given.append("what follows `--`")
    if given:
        cure = "leave out --no-verify" if options.verify is False else "name one by --entry SCRIPT"
        raise Usage(f"{given[0]} is about the run of a script, and none is run; {cure}")
