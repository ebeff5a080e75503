"""The least that any linter of this kind can cost: read, search, parse. Run by `bench.py`.

`floors.py read|triggers|ast|libcst FOLDER` does one of these to every Python file below FOLDER:
`triggers` also searches the words that the rules ask for, `ast` parses the files that have some
with the stdlib, `libcst` with libcst.
"""

from __future__ import annotations

import gc
import sys
from pathlib import Path


def main(what: str, folder: Path) -> None:
    gc.disable()
    words: list[bytes] = []
    if what != "read":
        from mpslint.checking.linter import screen_for
        from mpslint.settings.settings import Settings

        words = screen_for(Settings(), "x.py").words
    for path in folder.rglob("*.py"):
        data = path.read_bytes()
        if what == "read" or b"torch" not in data or not any(word in data for word in words):
            continue
        try:
            if what == "ast":
                compile(data, str(path), "exec", 0x400, dont_inherit=True)
            elif what == "libcst":
                import libcst

                libcst.parse_module(data)
        except Exception:  # a file that does not parse costs what it costs
            continue


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
