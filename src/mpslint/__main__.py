"""The `mpslint` command; `--version` answers before anything else is imported."""

from __future__ import annotations

import sys


def main() -> int:
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"]):
        from mpslint import __version__

        print(f"mpslint {__version__}")
        return 0
    from mpslint.cli import run

    return run(arguments)


def command() -> None:
    """The command, and the end of its process."""
    code = main()
    if sys.argv[1:2] == ["check"] and sys.getprofile() is None:
        _leave(code)
    sys.exit(code)


def _leave(code: int) -> None:
    """Ends the process without taking apart what it holds: trees and meanings of files, a tenth of
    the time of a check, for memory that the system takes back at once. Who measures is heard."""
    import atexit
    import os

    try:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        return  # Python says at its own end what cannot be written.
    os._exit(code)


def _leave_out_the_current_folder() -> None:
    """`python -m` looks for modules first where it is started: a `json.py` of the project that is
    checked would be run in place of Python's own. (The command `mpslint` never looks there.)"""
    import os

    first = sys.path[0]
    ours = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if first in ("", os.getcwd()) and os.path.abspath(first) != ours:
        del sys.path[0]


if __name__ == "__main__":
    _leave_out_the_current_folder()
    command()
