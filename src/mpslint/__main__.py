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


if __name__ == "__main__":
    sys.exit(main())
