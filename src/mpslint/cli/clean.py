"""`mpslint clean`: remove the caches of this project."""

from __future__ import annotations

import os

from mpslint.cli import OK, fail


def run(arguments: list[str]) -> int:
    from mpslint.cache import FOLDER, is_cache
    from mpslint.cli.parsing import Parser
    from mpslint.errors import reason_of

    options = Parser("clean", "Remove the caches that `mpslint check` left below a folder.")
    options.add_argument("path", nargs="?", default=".", metavar="PATH")
    given = options.parse_args(arguments)
    if not os.path.isdir(given.path):
        return fail(f"{given.path}: no such folder")
    for folder, names, _ in os.walk(given.path):
        if FOLDER in names:
            names.remove(FOLDER)
            cache = os.path.join(folder, FOLDER)
            if not is_cache(cache):
                continue
            import shutil

            try:
                shutil.rmtree(cache)
            except OSError as error:
                return fail(f"{cache}: cannot be removed: {reason_of(error)}")
            print(f"removed {cache}")
    return OK
