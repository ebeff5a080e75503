"""The `mpslint` command; `--version` answers before anything else is imported."""

from __future__ import annotations

import gc
import sys


def main() -> int:
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"]):
        from mpslint import __version__

        print(f"mpslint {__version__}")
        return 0
    from mpslint.cli import run

    if arguments[:1] in (["check"], ["fix"]):
        # All of it, the end as well: it would go through what a run keeps, which the end of the
        # process gives back.
        gc.disable()
    code = run(arguments)
    gc.freeze()
    return code


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
    sys.exit(main())
